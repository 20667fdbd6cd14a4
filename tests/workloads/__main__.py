"""Run one named workload as a script: ``python -m tests.workloads NAME [--replays N]``."""

from __future__ import annotations

import argparse
import time

from . import NAMES, load


def main() -> None:
    """Capture the chosen workload's graphs, replay them and print one line with the result."""
    parser = argparse.ArgumentParser(prog="python -m tests.workloads", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--replays", type=int, default=10, help="replays of each graph")
    parser.add_argument("--small", action="store_true", help="use sizes that suit a test")
    parser.add_argument(
        "--check",
        action="store_true",
        help="only compare replays with eager execution (captures graphs of its own)",
    )
    arguments = parser.parse_args()
    if arguments.replays < 1:
        parser.error(f"--replays is {arguments.replays}; it has to be at least 1")

    import torch

    if not torch.cuda.is_available():
        parser.exit(2, "no CUDA device: a workload captures CUDA graphs, so it needs a GPU\n")
    began_s = time.perf_counter()
    workload = load(arguments.name).build("cuda", small=arguments.small)
    if arguments.check:
        workload.check()
        print(f"{workload.name}: replay equals eager")
        return
    result = workload.run(arguments.replays)
    # All digits: two runs, one of them recorded, are compared by this line.
    checksum = result.double().sum().item()
    seconds = time.perf_counter() - began_s
    print(f"{workload.name}: {arguments.replays} replays, checksum {checksum!r}", flush=True)
    print(f"{workload.name}: took {seconds:.1f} s")


if __name__ == "__main__":
    main()
