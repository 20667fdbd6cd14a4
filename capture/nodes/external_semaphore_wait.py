"""Waits for external semaphores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Category, NodeType
from .external_semaphore_signal import ExternalSemaphorePayload, payloads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reader import Reader


def decode(reader: Reader, handles: Sequence[int]) -> list[ExternalSemaphorePayload | None]:
    """Read ``cuGraphExternalSemaphoresWaitNodeGetParams`` of every node."""
    with reader.phase("external semaphores"):
        found = reader.values(reader.driver.semaphore_waits(handles), handles)
    return payloads(found)


def label(payload: ExternalSemaphorePayload | None) -> str:
    """Return the type's name, and the number of semaphores when there are several."""
    count = len(payload.semaphore_handles) if payload is not None else 0
    return f"wait for {count} semaphores" if count > 1 else "wait for semaphore"


NODE_TYPE = NodeType(
    name="external_semaphore_wait",
    number=9,
    category=Category.SYNCHRONISATION,
    payload=ExternalSemaphorePayload,
    label=label,
    decode=decode,
    dot_names=("EXT_SEMAS_WAIT", "EXT_SEM_WAIT"),
    description="waits for semaphores of another graphics or compute API",
)
