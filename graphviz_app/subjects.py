"""Subjects of analyses from a recording: a graph or body with the timings that are shown of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from capture.analysis.subject import Subject
from capture.errors import FormatError
from capture.memory.twins import twin_of
from capture.model import EvidenceKind, Executable, Gpu, Graph, GraphInfo, Recording

if TYPE_CHECKING:
    from capture.timings import Timings


def shown_timings(
    recording: Recording, key: str, chosen: str = ""
) -> tuple[Executable | None, Timings | None]:
    """Return the executable of a graph whose timings are shown: the one traced most often.

    Parameters
    ----------
    recording : Recording
    key : str
        Of the graph.
    chosen : str
        Id of another executable to show; one that has no timings of this graph is passed over.

    Raises
    ------
    FormatError
        The stored timings are damaged.
    """
    best: tuple[Executable | None, Timings | None] = (None, None)
    most = -1
    executables = recording.executables_of(key)
    timed = set(recording.timed)
    if chosen in timed and any(item.id == chosen for item in executables):
        executables = [item for item in executables if item.id == chosen]
    for executable in executables:
        timings = recording.timings(executable.id)
        if timings is not None and len(timings.makespan_ns) > most:
            most = len(timings.makespan_ns)
            best = (executable, timings)
    return best


def gpu_of(recording: Recording, info: GraphInfo) -> Gpu | None:
    """Return the device that a graph was captured on; the first where the graph does not say."""
    if info.process is None or not 0 <= info.process < len(recording.processes):
        return None
    gpus = recording.processes[info.process].gpus
    if info.device is None:
        return gpus[0] if gpus else None
    return next((gpu for gpu in gpus if gpu.index == info.device), None)


def subject_of(
    recording: Recording, key: str, graph: Graph, body: str = "", executable: str = ""
) -> Subject:
    """Return what analyses look at.

    Parameters
    ----------
    recording : Recording
    key : str
        Of the captured graph.
    graph : Graph
        The captured graph, or its body at `body`.
    body : str
    executable : str
        Id of the one whose timings are shown; see :func:`shown_timings`.
    """
    info = recording.info(key)
    shown, timings = shown_timings(recording, key, executable)
    unreadable: dict[EvidenceKind, str] = {}
    origins = None
    try:
        # Kept by whoever keeps the subject, and dropped with it.
        origins = recording.evidence("origins", key, keep=False)
    except FormatError as error:
        unreadable[EvidenceKind.ORIGINS] = f"the origins cannot be read: {error}"
    benchmark = None
    try:
        benchmark = recording.benchmark(key)
    except FormatError as error:
        unreadable[EvidenceKind.BENCHMARKS] = f"the benchmark cannot be read: {error}"
    memory = None
    try:
        memory = recording.memory(key)
    except FormatError as error:
        unreadable[EvidenceKind.MEMORY] = f"the memory evidence cannot be read: {error}"
    gpu = gpu_of(recording, info)
    writes = None
    try:
        writes = recording.writes(key)
    except FormatError as error:
        unreadable[EvidenceKind.WRITES] = f"what nodes wrote cannot be read: {error}"
    return Subject(
        graph,
        info,
        timings,
        gpu,
        shown,
        body,
        origins,
        unreadable,
        benchmark,
        memory,
        writes,
        partial(twin_of, recording, key, memory) if memory is not None else None,
    )
