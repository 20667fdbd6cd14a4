"""The parent of a dry run: starts the child, and reads what it found."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from . import readiness
from .launch import RUNNER as RECORDED
from .launch import child_command
from .readiness import Failure, Readiness

HERE = Path(__file__).resolve().parent
RUNNER = HERE / "ready_runner.py"
LIMIT_S = 600
"""Seconds after which a workload is stopped; what was found until then counts."""


def check(
    target: str, args: Sequence[str] = (), module: bool = False, limit_s: int = LIMIT_S
) -> Readiness:
    """Run a workload on fake tensors in a process of its own.

    What it writes on standard output goes to standard error: its numbers are made up.

    Parameters
    ----------
    target : str
        A script, ``MODULE:FUNCTION``, or, with `module`, a module's name.
    args : sequence of str
        The workload's own arguments.
    limit_s : int
        Seconds after which it is stopped.

    Raises
    ------
    WorkloadError
        There is no such script.
    """
    command = child_command(target, args, module)
    # The same rules as recording say what is to be run.
    kind = "module" if module else "script"
    if command[1] == str(RECORDED) and command[2] == "function":
        kind = "function"
    with tempfile.TemporaryDirectory(prefix="cglens-ready-") as folder:
        result = Path(folder) / "result.json"
        child = [sys.executable, str(RUNNER), str(result), str(limit_s), kind, target, *args]
        # With no GPU to see, every machine gives the same answer, and none is taken from others.
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TORCHDYNAMO_DISABLE": "1"}
        sys.stdout.flush()
        code: int | None = None
        started = time.monotonic()
        process = subprocess.Popen(  # noqa: S603 - the user's own workload
            child, env=environment, stdout=sys.stderr.fileno(), close_fds=False
        )
        try:
            code = process.wait()
        except KeyboardInterrupt:
            code = process.wait()  # the terminal interrupted the child as well: it writes and ends
        elapsed_s = time.monotonic() - started
        found = readiness.read(result)
    if found is not None:
        return found
    # Time that is up in the middle of a call into C++ ends the process before it can tell.
    over = f"; it was stopped before its end, after {limit_s} s" if elapsed_s >= limit_s else ""
    return Readiness(
        target=target,
        ended=readiness.LOST,
        failure=Failure(
            error="lost",
            message=f"the process ended with exit code {code} and left no result{over}",
        ),
    )
