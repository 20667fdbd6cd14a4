"""Runs scripts on a real GPU, in forks of one process that has imported torch already.

``forked_real.py SCRIPT...`` prints one line of JSON per script: its name, and the error it ended
with, empty for none. A script that defines ``workload()`` has that warmed up, captured and
replayed.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

AT_ONCE = 6


def main() -> None:
    """Fork for each script, some at a time."""
    import torch
    import torch._dynamo
    import torch.optim  # noqa: F401

    running: dict[int, tuple[str, int]] = {}
    for script in sys.argv[1:]:
        while len(running) >= AT_ONCE:
            _wait(running)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(2, 1)
            os.write(writing, _run(script)[:4000].encode())
            os._exit(0)
        os.close(writing)
        running[child] = (script, reading)
    while running:
        _wait(running)


def _wait(running: dict[int, tuple[str, int]]) -> None:
    child, _ = os.wait()
    script, reading = running.pop(child)
    with os.fdopen(reading, "rb") as stream:
        said = stream.read().decode(errors="replace")
    print(json.dumps({"script": Path(script).stem, "error": said}), flush=True)


def _run(script: str) -> str:
    import torch

    try:
        names = runpy.run_path(script, run_name="__main__")
        workload = names.get("workload")
        if callable(workload):
            side: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            with torch.cuda.stream(side):
                for _ in range(2):
                    workload()
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                workload()
            graph.replay()
        torch.cuda.synchronize()
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    main()
