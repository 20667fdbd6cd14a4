"""Write the driver's verbose DOT and our recording of one real chain, for ``files.py``.

``python -m tests.benchmarks.real_chain FOLDER [--nodes N]`` needs a GPU; then
``python -m tests.benchmarks.files --dot FOLDER/chain.dot --recording FOLDER/chain.cgl``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import capture
from capture.driver.cuda_bindings import CudaDriver
from capture.recorder.api import recording_of

from ..workloads import chains

VERBOSE = 1


def main() -> None:
    """Build a chain and write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, default=100_000)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    handle = chains.chain(arguments.nodes)
    dot = CudaDriver().debug_dot(handle, VERBOSE)
    (arguments.folder / "chain.dot").write_text(dot, encoding="utf-8")
    capture.write(recording_of(handle), arguments.folder / "chain.cgl", force=True)
    print(f"wrote chain.dot and chain.cgl of {arguments.nodes:,} nodes to {arguments.folder}")


if __name__ == "__main__":
    main()
