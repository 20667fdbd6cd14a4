"""From a recording folder to its file."""

from __future__ import annotations

from pathlib import Path

from ..errors import NothingRecordedError
from ..formats import write
from ..model import Recording
from . import folder as folders
from .assemble import UNSEEN, assemble

ADVICE = (
    "capture one with torch.cuda.graph, make_graphed_callables or "
    'torch.compile(mode="reduce-overhead"), or let us: define workload() in the script, or '
    "record a function with `cglens record MODULE:FUNCTION`"
)


def pack(folder: Path, output: Path, force: bool = False, keep_empty: bool = False) -> Recording:
    """Assemble a folder, write its recording and remove the folder.

    The folder stays when writing fails.

    Parameters
    ----------
    folder, output : Path
    force : bool
        Replace a file that is there.
    keep_empty : bool
        Keep the folder when there is nothing in it.

    Returns
    -------
    Recording
        As written; its graphs are in `output` from now on.

    Raises
    ------
    NothingRecordedError
        No process captured a graph or tried to.
    OutputError
        The file cannot be written.
    """
    from ..formats import read

    recording = assemble(folder)
    if not recording.graphs and not recording.failed:
        reason = why_nothing(recording)
        if not keep_empty:
            folders.remove(folder)
        raise NothingRecordedError(reason)
    write(recording, output, format="cgl", force=force)
    folders.remove(folder)
    return read(output)


def why_nothing(recording: Recording) -> str:
    """Say why a recording is empty, and what to do."""
    warnings = [text for process in recording.processes for text in process.warnings]
    warnings += [text for text in recording.metadata.warnings if text != UNSEEN]
    if warnings:
        return f"nothing was recorded: {warnings[0]}"
    if not recording.processes and not recording.metadata.exit_code:
        return (
            "nothing was recorded: no process imported torch, and only graphs captured through "
            f"torch are observed; {ADVICE}"
        )
    for process in recording.processes:
        if "torch" in process.versions and "torch_cuda" not in process.versions:
            return (
                f"nothing was recorded: torch {process.versions['torch']} is built without CUDA; "
                f"`cglens doctor` says what recording needs"
            )
    if recording.metadata.exit_code:  # what it said itself tells what to do
        return "nothing was recorded: the workload failed before it captured a CUDA graph"
    return (
        f"nothing was recorded: the workload captured no CUDA graph; {ADVICE}; "
        f"`cglens doctor` says whether this machine can record"
    )
