"""Memory evidence of captures and of the process, as observers write it."""

from __future__ import annotations

from contextlib import suppress
from time import perf_counter_ns as clock
from typing import TYPE_CHECKING, Any, Protocol

from ..codec import collection_paused, dump
from ..memory_map import Memory, MemoryMap, Snapshot
from ..model import Evidence, EvidenceKind, Graph, GraphInfo
from .open_capture import OpenCapture

if TYPE_CHECKING:
    from .observer import Observer
    from .sink import Sink


class MemorySource(Protocol):
    """Looks at memory; torch's side of it is :mod:`capture.recorder.torch_memory`."""

    wanted: str
    reason: str
    cost_ns: int

    @property
    def active(self) -> bool:
        """Whether memory is looked at."""

    def before(self, driver: Any) -> Memory | None:
        """Look before a capture begins."""

    def after(
        self, driver: Any, memory: Memory, capture: OpenCapture, graph: Graph | None
    ) -> Memory:
        """Look when the capture has ended, and complete what `before` began."""

    def between(self) -> None:
        """Read what happened since, where it would be lost otherwise."""

    def end(self, driver: Any) -> Snapshot | None:
        """Look at everything."""


def look_before(observer: Observer) -> Memory | None:
    """Look at memory before a capture begins; never raises."""
    source = observer.memory_source
    if source is None or not source.active:
        return None
    start = clock()
    try:
        with collection_paused():
            return source.before(observer.driver())
    except Exception as error:
        observer.complain("memory before a capture", error)
        return None
    finally:
        observer.add_cost("memory", clock() - start)


def look_between(observer: Observer) -> None:
    """Follow memory while graphs are replayed; seldom, and never raises."""
    source = observer.memory_source
    if source is None or not source.active or observer.capturing:
        return
    start = clock()
    try:
        source.between()
    except Exception as error:
        observer.complain("memory between captures", error)
    observer.add_cost("memory", clock() - start)


def look_after(observer: Observer, info: GraphInfo, capture: OpenCapture) -> Memory | None:
    """Look at memory after a capture that ended well, and note it as evidence; never raises."""
    source, memory = observer.memory_source, capture.memory
    capture.memory = None
    kind = EvidenceKind.MEMORY.value
    if source is None or not source.wanted:
        return None
    if memory is None:
        reason = source.reason or "memory could not be looked at before the capture"
        info.evidence[kind] = Evidence(present=False, reason=reason)
        return None
    start = clock()
    extraction = capture.extraction
    try:
        graph = extraction.graph if extraction is not None else None
        with collection_paused():
            found = source.after(observer.driver(), memory, capture, graph)
    except Exception as error:
        observer.complain("memory after a capture", error)
        reason = f"memory could not be looked at: {type(error).__name__}: {error}"
        info.evidence[kind] = Evidence(present=False, reason=reason)
        return None
    finally:
        observer.add_cost("memory", clock() - start)
    _note_kept(observer, found)
    cost = sum(mark.cost_ns or 0 for mark in found.marks)
    info.evidence[kind] = Evidence(present=True, how="; ".join(found.how), cost_ns=cost)
    return found


def _note_kept(observer: Observer, memory: MemoryMap) -> None:
    if observer.keeper is not None:
        memory.notes.append(
            "Graphs were kept for replays of our own, with their pools: without that, memory of "
            "graphs that the script had dropped would be gone."
        )


def note_failed(observer: Observer, info: GraphInfo) -> None:
    """Say why a failed capture has no memory evidence."""
    source = observer.memory_source
    if source is not None and source.wanted:
        reason = source.reason or "memory is kept only of captures that became a graph"
        info.evidence[EvidenceKind.MEMORY.value] = Evidence(present=False, reason=reason)


def write(observer: Observer, serial: int, memory: Memory) -> None:
    """Write what was found about a graph."""
    start = clock()
    document = dump(memory)
    for sink in observer.sinks:
        sink.write("memory", serial, document=document)
    observer.add_cost("memory", clock() - start)


def write_end(observer: Observer, sink: Sink) -> None:
    """Look at everything that the process holds, and write it; never raises."""
    source = observer.memory_source
    if source is None or not source.active or not sink.serials:
        return
    start = clock()
    try:
        found = source.end(observer.driver())
        if found is not None:
            _note_kept(observer, found)
            sink.write_process("snapshots", document=dump(found))
    except Exception as error:
        with suppress(Exception):
            observer.complain("memory at the end", error)
    observer.add_cost("memory", clock() - start)
