"""Values of a memory snapshot of unknown origin, checked before they are used. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import FormatError

STATE_OF = {
    "active_allocated": 0,
    "active_pending_free": 1,
    "active_awaiting_free": 1,
    "inactive": 2,
}
"""By torch's names, places in :data:`~capture.memory_map.STATES`."""


def list_of(value: Any, what: str) -> Sequence[Any]:
    """Return a list or tuple."""
    if isinstance(value, (list, tuple)):
        return value
    raise FormatError(f"{what} is a {type(value).__name__}, expected a list")


def map_of(value: Any, what: str) -> Mapping[str, Any]:
    """Return a map."""
    if isinstance(value, Mapping):
        return value
    raise FormatError(f"{what} is a {type(value).__name__}, expected a map")


def number_of(row: Mapping[str, Any], name: str, what: str, default: int | None = None) -> int:
    """Return a number of a row that is at least 0 and below 2**63."""
    value = row.get(name, default)
    if type(value) is int and 0 <= value < 1 << 63:
        return value
    if name not in row:
        raise FormatError(f"{what} has no {name!r}")
    raise FormatError(f"{what} has {name} {short(value)}, expected a number of at least 0")


def state_of(block: Mapping[str, Any]) -> int:
    """Return the place of a block's state; one that is not known counts as allocated."""
    state = block.get("state")
    return STATE_OF.get(state, 0) if isinstance(state, str) else 0


def short(value: Any) -> str:
    """Describe a value for a message; text of nested data could be endless."""
    if isinstance(value, str):
        return repr(value[:40])
    if isinstance(value, int) and value.bit_length() < 128:
        return str(value)
    return f"a {type(value).__name__}"
