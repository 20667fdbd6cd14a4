"""Records of an event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Category, NodeType
from .wait_event import EventPayload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reader import Reader


def decode(reader: Reader, handles: Sequence[int]) -> list[EventPayload | None]:
    """Read ``cuGraphEventRecordNodeGetEvent`` of every node."""
    with reader.phase("events"):
        found = reader.values(reader.driver.recorded_events(handles), handles)
    return [None if event is None else EventPayload(event_handle=event) for event in found]


def label(payload: EventPayload | None) -> str:
    """Return the type's name."""
    return "event record"


NODE_TYPE = NodeType(
    name="event_record",
    number=7,
    category=Category.SYNCHRONISATION,
    payload=EventPayload,
    label=label,
    decode=decode,
    dot_names=("EVENT_RECORD",),
    description="records an event",
)
