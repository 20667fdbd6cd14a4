"""What `record` and `run` share: the child, its end, and the line that says what was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from capture.errors import GraphLensError, NothingRecordedError
from capture.model import Recording

from ..failure_facts import closing_lines
from ..format import counted, duration_text

if TYPE_CHECKING:
    from capture.measure_request import MeasureRequest


def default_output(target: str) -> Path:
    """Return the file that is written when none is named: after the script or function.

    Examples
    --------
    >>> default_output("bench/train.py"), default_output("package.model:step")
    (PosixPath('train.cgl'), PosixPath('step.cgl'))
    """
    name = Path(target).name
    if ":" in name:
        name = name.rpartition(":")[2]
    stem = name.removesuffix(".py").rpartition(".")[2]
    return Path(f"{stem or 'recording'}.cgl")


def record_to(
    output: Path | None,
    force: bool,
    module: bool,
    target: str,
    args: Sequence[str],
    timings: int | None = None,
    measure: MeasureRequest | None = None,
    variables: Mapping[str, str] | None = None,
) -> tuple[Path, int, bool]:
    """Record a workload; return the file, the workload's exit code and whether it was written.

    Parameters
    ----------
    timings : int, optional
        Replays of each graph to trace; 0 for none.
    measure : MeasureRequest, optional
        What to measure once the workload has ended.
    variables : mapping of str to str, optional
        Environment variables for the recorder; see :func:`capture.recorder.launch.run`.

    Raises
    ------
    GraphLensError
        Nothing could be or was recorded, and the workload itself did not fail.
    """
    from capture.recorder import folder as folders
    from capture.recorder import launch
    from capture.recorder.pack import pack

    command = launch.child_command(target, args, module)
    output = output or default_output(target)
    typed = ["-m", target, *args] if module else [target, *args]
    folder = folders.make(output, typed, force)
    try:
        code = launch.run(command, folder, timings, measure, variables)
    except OSError as error:
        folders.remove(folder)
        raise GraphLensError(f"cannot start {command[0]}: {error}") from error
    folders.write_exit(folder, code)
    exit_code = launch.shell_code(code)
    try:
        recording = pack(folder, output, force)
    except NothingRecordedError as error:
        if exit_code == 0:
            raise
        complain(f"{error} (the workload ended with exit code {exit_code})")
        return output, exit_code, False
    except KeyboardInterrupt:
        complain(f"interrupted; what was recorded is in {folder}: cglens recover {folder}")
        return output, 130, False
    except GraphLensError as error:
        complain(f"{error}; what was recorded is in {folder}: cglens recover {folder} -o FILE")
        return output, exit_code or error.exit_code, False
    except Exception:
        complain(f"what was recorded is in {folder}: cglens recover {folder} -o FILE")
        raise
    click.echo(f"cglens: {describe(recording, output)}", err=True)
    for text in [*closing_lines(recording), *notable(recording)]:
        complain(text)
    return output, exit_code, True


def describe(recording: Recording, output: Path) -> str:
    """Return one line on what was written, where, and what recording it cost."""
    infos = recording.graphs.values()
    words = [
        f"recorded {counted(len(recording.graphs), 'graph')} with "
        f"{counted(sum(info.node_count for info in infos), 'node')}"
    ]
    if recording.failed:
        words.append(counted(len(recording.failed), "failed capture"))
    cost_ns = sum(sum(process.costs_ns.values()) for process in recording.processes)
    cost = f"; recording took {duration_text(cost_ns)} of the workload's time" if cost_ns else ""
    return f"{' and '.join(words)} in {output}{cost}"


def notable(recording: Recording) -> list[str]:
    """Return what the user has to know about a recording that is not whole."""
    found = list(recording.metadata.warnings)
    for process in recording.processes:
        if process.ended == "lost":
            found.append(
                f"process {process.pid} vanished without closing its journal (killed, crashed or "
                f"os._exit): what it captured until then is kept, replays as far as counted"
            )
        found.extend(process.warnings)
    return found


def complain(text: str) -> None:
    """Write one line on standard error."""
    click.echo(f"cglens: {' '.join(text.split())}", err=True)
