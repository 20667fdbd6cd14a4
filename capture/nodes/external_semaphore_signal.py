"""Signals of external semaphores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from .base import Category, NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..driver.records import Semaphores
    from .reader import Reader


class ExternalSemaphorePayload(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Semaphores of another API, with one map of parameters each."""

    semaphore_handles: list[int] = msgspec.field(default_factory=list)
    parameters: list[dict[str, Any]] = msgspec.field(default_factory=list)


def payloads(found: Sequence[Semaphores | None]) -> list[ExternalSemaphorePayload | None]:
    """Turn what the driver told of each node, signals and waits alike, into payloads."""
    return [
        None
        if semaphores is None
        else ExternalSemaphorePayload(
            semaphore_handles=semaphores.handles, parameters=[*semaphores.parameters]
        )
        for semaphores in found
    ]


def decode(reader: Reader, handles: Sequence[int]) -> list[ExternalSemaphorePayload | None]:
    """Read ``cuGraphExternalSemaphoresSignalNodeGetParams`` of every node."""
    with reader.phase("external semaphores"):
        found = reader.values(reader.driver.semaphore_signals(handles), handles)
    return payloads(found)


def label(payload: ExternalSemaphorePayload | None) -> str:
    """Return the type's name, and the number of semaphores when there are several."""
    count = len(payload.semaphore_handles) if payload is not None else 0
    return f"signal {count} semaphores" if count > 1 else "signal semaphore"


NODE_TYPE = NodeType(
    name="external_semaphore_signal",
    number=8,
    category=Category.SYNCHRONISATION,
    payload=ExternalSemaphorePayload,
    label=label,
    decode=decode,
    dot_names=("EXT_SEMAS_SIGNAL", "EXT_SEM_SIGNAL"),
    description="signals semaphores of another graphics or compute API",
)
