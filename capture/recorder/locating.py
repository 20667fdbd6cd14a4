"""`cglens locate`: see which replay goes wrong, then find the node, in children that may die."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ..locate_request import LocateRequest
from ..located import NOTE, Located
from ..model import Recording
from . import folder as folders
from .launch import MEMORY
from .locate_children import Children
from .locate_steps import Searcher, Wanted
from .pack import pack


def locate(wanted: Wanted, tell: Callable[[str], None]) -> tuple[Located, Recording | None]:
    """Find the first node with which a replay goes wrong.

    Parameters
    ----------
    wanted : Wanted
    tell : callable
        Says a line to the user, who waits.

    Returns
    -------
    located : Located
    recording : Recording or None
        Of the first run, with `located` in the extra of its graph; it is in ``wanted.output``
        where that was given.

    Raises
    ------
    GraphLensError
        Nothing was recorded, or what was cannot be written.
    """
    with _ending_orderly(), tempfile.TemporaryDirectory(prefix="cglens-locate-") as name:
        scratch = Path(name)
        children = Children(wanted.command, scratch)
        output = wanted.output or scratch / "observed.cgl"
        folder = folders.make(output, wanted.typed, wanted.force)
        tell("running the workload, waiting after every replay")
        observed = children.run(
            LocateRequest(
                step="observe",
                answers="",
                graph=wanted.graph,
                symptom=wanted.symptom,
                timeout_s=wanted.timeout_s,
                function=wanted.function,
            ),
            folder,
            {MEMORY: "1"},
        )
        folders.write_exit(folder, observed.exit_code)
        recording = pack(folder, output, force=True)
        located = Searcher(wanted, children, recording, observed, tell).located()
        info = recording.graphs.get(located.graph)
        if info is not None:
            info.extra[NOTE] = msgspec.to_builtins(located)
            recording.graph(located.graph)
            if wanted.output is not None:
                from ..formats import read, write

                write(recording, wanted.output, format="cgl", force=True)
                recording = read(wanted.output)
        if wanted.output is None:
            _load(recording, located.graph)
        return located, recording


@contextmanager
def _ending_orderly() -> Iterator[None]:
    """Let a request to end reach the children: they are in sessions of their own."""

    def leave(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    before: Any = signal.SIG_DFL
    try:
        before = signal.signal(signal.SIGTERM, leave)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _load(recording: Recording, key: str) -> None:
    """Read what a report says of a graph, before the file goes."""
    if key in recording.graphs:
        recording.graph(key)
        for kind in ("origins", "memory", "benchmarks", "writes"):
            recording.evidence(kind, key)


def command_of(target: str, args: Sequence[str], module: bool) -> tuple[list[str], list[str]]:
    """Return the command of a workload, and how it was typed.

    Raises
    ------
    WorkloadError
        It is none that can be run.
    """
    from .launch import child_command

    typed = ["-m", target, *args] if module else [target, *args]
    return child_command(target, args, module), typed
