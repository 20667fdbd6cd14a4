"""What is known of both sides of a comparison as wholes: graphs, and recordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from capture.compare import Measure
from capture.compare.measures import Size
from capture.model import Recording

from .. import timing_facts
from ..fields import label_text
from ..format import (
    bytes_text,
    command_text,
    count_text,
    duration_text,
    moment_text,
    signed_bytes_text,
    signed_duration_text,
)
from .compared import Compared
from .sheets import Row, Sheet

SIZES = "what torch's pool of the graph, or the executable, takes"


def graph_sheets(compared: Compared) -> list[Sheet]:
    """Return what is known of both graphs as wholes."""
    counts = compared.diff.counts
    nodes = [
        Row("nodes", count_text(counts.nodes_before), count_text(counts.nodes_after)),
        *(
            Row(title, one, other)
            for title, one, other in (
                ("edges", *_infos(compared, "edge_count")),
                ("width", *_infos(compared, "width")),
                ("depth", *_infos(compared, "depth")),
            )
        ),
    ]
    found = [Sheet("Graph", nodes), Sheet("Time", time_rows(compared.diff.measures))]
    if not found[1].rows:
        found[1] = Sheet("Time", absent=no_times(compared))
    sizes = size_rows(compared.diff.sizes)
    if sizes:
        found.append(Sheet("Memory", sizes))
    found.append(Sheet("Recorded", list(_recorded(compared))))
    return found


def _infos(compared: Compared, name: str) -> tuple[str | None, str | None]:
    infos = compared.before.info, compared.after.info
    one, other = (count_text(getattr(info, name)) if info is not None else None for info in infos)
    return one, other


def time_rows(measures: Iterable[Measure]) -> list[Row]:
    """Return times of both with the difference and its noise."""
    found = []
    for item in measures:
        note = ""
        if item.differs is not None and item.spread_ns is not None:
            noise = duration_text(item.spread_ns)
            note = (
                f"{signed_duration_text(item.difference_ns)}, noise {noise}"
                if item.differs
                else f"within the noise of {noise}"
            )
        elif item.difference_ns:
            note = signed_duration_text(item.difference_ns)
        samples = f"medians of {item.samples[0]:,} and {item.samples[1]:,} samples"
        found.append(
            Row(
                item.name,
                duration_text(item.before_ns),
                duration_text(item.after_ns),
                samples if item.spread_ns is not None else "computed from durations and edges",
                note,
                bool(item.differs),
            )
        )
    return found


def size_rows(sizes: Iterable[Size]) -> list[Row]:
    """Return amounts of memory of both with their difference."""
    return [
        Row(
            item.name,
            bytes_text(item.before_bytes),
            bytes_text(item.after_bytes),
            SIZES,
            ""
            if item.before_bytes == item.after_bytes
            else signed_bytes_text(item.after_bytes - item.before_bytes),
            item.before_bytes != item.after_bytes,
        )
        for item in sizes
    ]


def no_times(compared: Compared) -> str:
    """Return why times cannot be compared."""
    lacking = {
        words: timing_facts.absent_text(subject)
        for words, subject in (("Before", compared.before), ("After", compared.after))
        if not subject.is_timed
    }
    if len(lacking) == 2 and len(set(lacking.values())) == 1:
        return f"Before and after: {lacking['Before']}"
    return " ".join(f"{words}: {text}" for words, text in lacking.items())


def recording_sheets(before: Recording, after: Recording) -> list[Sheet]:
    """Return what is known of two recordings as wholes."""
    counts = [
        Row("graphs", count_text(len(before.graphs)), count_text(len(after.graphs))),
        Row("failed captures", count_text(len(before.failed)), count_text(len(after.failed))),
    ]
    one, other = (dict(_run(recording)) for recording in (before, after))
    rows = [Row(label, one.get(label), other.get(label)) for label in dict.fromkeys([*one, *other])]
    return [Sheet("Graphs", counts), Sheet("Recorded", rows)]


def _recorded(compared: Compared) -> Iterator[Row]:
    one, other = (dict(_run(recording)) for recording in compared.recordings)
    infos = compared.before.info, compared.after.info
    names = [info.name if info is not None else None for info in infos]
    yield Row("graph", names[0], names[1])
    for label in dict.fromkeys([*one, *other]):
        yield Row(label, one.get(label), other.get(label))


def _run(recording: Recording) -> Iterator[tuple[str, str]]:
    meta = recording.metadata
    if meta.command:
        yield "command", command_text(meta.command)
    if meta.started_unix_ns is not None:
        yield "when", moment_text(meta.started_unix_ns)
    if not recording.processes:
        return
    process = recording.processes[0]
    if process.gpus:
        yield "GPU", ", ".join(dict.fromkeys(gpu.name for gpu in process.gpus))
    for name, version in process.versions.items():
        yield label_text(name), version
