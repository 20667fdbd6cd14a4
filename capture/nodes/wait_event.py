"""Waits for an event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .base import Category, NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reader import Reader


class EventPayload(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An event that is waited for or recorded."""

    event_handle: int | None = None


def decode(reader: Reader, handles: Sequence[int]) -> list[EventPayload | None]:
    """Read ``cuGraphEventWaitNodeGetEvent`` of every node."""
    with reader.phase("events"):
        found = reader.values(reader.driver.awaited_events(handles), handles)
    return [None if event is None else EventPayload(event_handle=event) for event in found]


def label(payload: EventPayload | None) -> str:
    """Return the type's name."""
    return "wait event"


NODE_TYPE = NodeType(
    name="wait_event",
    number=6,
    category=Category.SYNCHRONISATION,
    payload=EventPayload,
    label=label,
    decode=decode,
    dot_names=("EVENT_WAIT", "WAIT_EVENT"),
    description="waits for an event",
)
