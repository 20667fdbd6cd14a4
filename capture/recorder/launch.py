"""The parent of a recorded process: starts it, stays out of its way, passes its end on."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import WorkloadError
from ..measure_request import ENVIRONMENT as MEASURE
from ..measure_request import MeasureRequest
from .folder import ENVIRONMENT
from .origins.settings import ORIGINS, SOURCES
from .timeline import TIMINGS

__all__ = ["MEMORY", "ORIGINS", "SOURCES", "child_command", "run", "shell_code"]

HERE = Path(__file__).resolve().parent
SITE = HERE / "site"
RUNNER = HERE / "runner.py"
MEMORY = "CGLENS_MEMORY"
"""Environment variable that has memory looked at: ``1``, or ``stacks`` for memory history too."""
WORKLOAD = "workload"
"""Name of the function that is captured when a script captures nothing itself."""


def child_command(target: str, args: Sequence[str], module: bool = False) -> list[str]:
    """Return the command that runs a script, a module or a function under this interpreter.

    Parameters
    ----------
    target : str
        Path of a script, or ``MODULE:FUNCTION``, or, with `module`, a module's name.
    args : sequence of str
        The workload's own arguments.

    Raises
    ------
    WorkloadError
        It is no script that Python can run.
    """
    if module:
        return [sys.executable, "-m", target, *args]
    path = Path(target)
    where, colon, function = target.rpartition(":")
    if not path.exists() and colon and where and _is_dotted(function):
        if where.endswith(".py") and not Path(where).is_file():
            raise WorkloadError(f"cannot record {target}: there is no file {where}")
        if where.endswith(".py") or _is_dotted(where):
            return [sys.executable, str(RUNNER), "function", target, *args]
    _check_script(path, target)
    if _defines_workload(path):
        return [sys.executable, str(RUNNER), "script", target, *args]
    return [sys.executable, target, *args]


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _check_script(path: Path, target: str) -> None:
    try:
        if path.is_dir():
            if (path / "__main__.py").is_file():
                return
            raise WorkloadError(
                f"cannot record {target}: it is a folder without __main__.py; name a script"
            )
        with path.open("rb") as stream:
            head = stream.read(4096)
    except FileNotFoundError:
        raise WorkloadError(
            f"cannot record {target}: there is no such file; expected a script, "
            f"MODULE:FUNCTION, or -m MODULE"
        ) from None
    except (OSError, ValueError) as error:
        raise WorkloadError(f"cannot record {target}: {error}") from error
    if head.startswith(b"PK") and path.suffix != ".cgl":
        return  # a zip of modules: Python itself says when it is none that it can run
    if b"\0" in head and path.suffix != ".pyc":
        hint = f"; to open it: cglens view {target}" if path.suffix == ".cgl" else ""
        raise WorkloadError(f"cannot record {target}: it is no Python script{hint}")


def _defines_workload(path: Path) -> bool:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False  # Python says what is wrong with it
    return any(isinstance(node, ast.FunctionDef) and node.name == WORKLOAD for node in tree.body)


def child_environment(folder: Path) -> dict[str, str]:
    """Return this environment with the recorder switched on."""
    environment = dict(os.environ)
    environment[ENVIRONMENT] = str(folder.resolve())
    before = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = f"{SITE}{os.pathsep}{before}" if before else str(SITE)
    return environment


def run(
    command: Sequence[str],
    folder: Path,
    timings: int | None = None,
    measure: MeasureRequest | None = None,
    variables: Mapping[str, str] | None = None,
) -> int:
    """Run a workload while it is recorded and return its exit code.

    Standard streams are inherited. The terminal sends its signals to the child as well; others
    are passed on, and this process waits for the child's end in either case.

    Parameters
    ----------
    command : sequence of str
        Of :func:`child_command`.
    folder : Path
        Of the recording.
    timings : int, optional
        Replays of each graph to trace, instead of the default; 0 for none.
    measure : MeasureRequest, optional
        What to measure with replays of our own once the workload is done; nothing without it.
    variables : mapping of str to str, optional
        Environment variables that tell the recorder what else to do, such as :data:`SOURCES`.

    Returns
    -------
    int
        As :class:`subprocess.Popen` gives it: negative for a signal.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    holder: list[subprocess.Popen[bytes]] = []
    with _signals(holder):
        # Descriptors that the shell handed us are the workload's as well.
        environment = child_environment(folder)
        if timings is not None:
            environment[TIMINGS] = str(timings)
        if measure is not None:
            environment[MEASURE] = measure.to_json()
        environment |= dict(variables or {})
        child = subprocess.Popen(  # noqa: S603 - the user's own command
            command, env=environment, close_fds=False
        )
        holder.append(child)
        return child.wait()


def shell_code(exit_code: int) -> int:
    """Return a child's exit code as a shell reports it: 128 plus the number for a signal."""
    return 128 - exit_code if exit_code < 0 else exit_code


@contextmanager
def _signals(holder: list[subprocess.Popen[bytes]]) -> Iterator[None]:
    from_terminal = _in_foreground()

    def handle(number: int, frame: Any) -> None:
        # Handlers, not SIG_IGN: a child inherits what is ignored, and handlers end at exec.
        by_terminal = number in (signal.SIGINT, signal.SIGQUIT) and from_terminal
        if holder and not by_terminal:
            with suppress(ProcessLookupError):
                holder[0].send_signal(number)

    before: dict[int, Any] = {}
    for number in map(int, (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)):
        with suppress(ValueError, OSError):  # not in the main thread
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def _in_foreground() -> bool:
    try:
        with open("/dev/tty", "rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False
