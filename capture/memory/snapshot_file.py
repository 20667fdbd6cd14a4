"""A file of torch's memory snapshot, as ``torch.cuda.memory._dump_snapshot`` writes it."""

from __future__ import annotations

from typing import Any

from ..errors import FormatError
from ..memory_map import Mark, Snapshot
from .restricted_pickle import loads
from .torch_snapshot import Tables, add_events, add_segments, add_sums


def read_snapshot(content: bytes) -> Snapshot:
    """Read a snapshot; nothing in the file is run or imported.

    Parameters
    ----------
    content : bytes
        A pickle of ``torch.cuda.memory._snapshot()``, or of the list of segments alone.

    Raises
    ------
    FormatError
        It is no memory snapshot, or damaged.
    TooLargeError
        More than is read.
    """
    found: Any = loads(content)
    traces: Any = ()
    settings: Any = None
    segments = found
    if isinstance(found, dict):
        if "segments" not in found:
            names = ", ".join(sorted(str(name)[:40] for name in list(found)[:5]))
            raise FormatError(
                f"it is a pickle of a map with {names or 'nothing'}, not of a memory snapshot: "
                f"expected 'segments', as torch.cuda.memory._dump_snapshot writes"
            )
        segments, traces = found["segments"], found.get("device_traces") or ()
        settings = found.get("allocator_settings")
    elif not isinstance(found, list):
        raise FormatError(
            f"it is a pickle of a {type(found).__name__}, not of a memory snapshot: expected what "
            f"torch.cuda.memory._dump_snapshot writes"
        )
    snapshot = Snapshot(
        process="0", how=["a file of torch's memory snapshot"], marks=[Mark(name="in the file")]
    )
    tables = Tables(snapshot)
    add_segments(tables, segments)
    add_sums(tables, segments, 0)
    add_events(tables, traces)
    if snapshot.events is None:
        snapshot.history = "off"
        snapshot.notes.append(
            "The file has no history of allocations: torch keeps one only after "
            "torch.cuda.memory._record_memory_history()."
        )
    else:
        snapshot.history = "on"
    if isinstance(settings, dict) and settings.get("expandable_segments") is True:
        snapshot.notes.append("Segments are expandable: they grow and shrink in place.")
    return snapshot
