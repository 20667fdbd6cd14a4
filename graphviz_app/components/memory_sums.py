"""Bytes of a graph's memory in sum: what its capture took, and pools beside torch's counters."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from capture.analysis import Result, Subject
from capture.memory_map import Counters

from .. import format as text
from ..context import Context
from ..facts import Fact
from ..ids import MemoryPage
from . import result_view

POOLS_HINT = "Segments and blocks added up, before and after the capture"
STEPS = {
    "added": ("added by the capture", "reserved by torch after it, less what was before"),
    "pool": ("in its pool", "reserved in the graph's pool after the capture"),
    "pool_before": ("in its pool before", "reserved by graphs that share the pool"),
    "kept": ("stays allocated", "allocated in its pool after the capture: outputs, and others"),
}


def memory_facts(subject: Subject, pools: Result) -> list[Fact]:
    """Return what the capture did to memory, what torch and the driver count, and an executable's.

    Parameters
    ----------
    subject : Subject
        With memory.
    pools : Result
        Of the analysis ``pools``.
    """
    found = []
    for name, (label, source) in STEPS.items():
        figure = pools.figures.get(name)
        if figure is not None and isinstance(figure.value, int):
            found.append(_fact(label, figure.value, source))
    first, last = _counters(subject)
    if last is not None and last.peak_allocated_bytes is not None:
        source = "torch's own peak since the process began, or since the script reset it"
        found.append(_fact("peak until then", last.peak_allocated_bytes, source))
    free = [item.driver_free_bytes for item in (first, last) if item is not None]
    if len(free) == 2 and free[0] is not None and free[1] is not None:
        source = "free bytes by the driver before the capture, less those after; all processes"
        found.append(_fact("taken from the device", free[0] - free[1], source))
    benchmark = subject.benchmark
    if benchmark is not None and benchmark.executable_bytes:  # 0 says that the piece was too large
        source = "mean of several executables of this graph, by the driver"
        found.append(_fact("an executable", benchmark.executable_bytes, source))
    return found


def _fact(label: str, size_bytes: int, source: str) -> Fact:
    return Fact(label, text.bytes_text(size_bytes), text.exact_bytes_text(size_bytes), source)


def _counters(subject: Subject) -> tuple[Counters | None, Counters | None]:
    """Return what was counted of the graph's device at the first mark, and at the last."""
    memory = subject.memory
    if memory is None or not memory.marks:
        return None, None
    here = [item for item in memory.counters if memory.device in (None, item.device)]
    last = len(memory.marks) - 1
    first = next((item for item in here if item.mark == 0 and last), None)
    return first, next((item for item in here if item.mark == last), None)


def pools_table(context: Context, result: Result, title: str = "Pools") -> list[Component]:
    """Return pools as a table, with whether they add up to what torch counts."""
    if not result.present or not result.rows:
        return []
    return [
        html.H3(title, title=POOLS_HINT),
        result_view.table(context, MemoryPage.POOLS, result),
        result_view.notes_of(result),
    ]
