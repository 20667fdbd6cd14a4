"""Downloads through the formats of :mod:`capture.formats`."""

from __future__ import annotations

from typing import Any


def writable() -> list[Any]:
    """Return the formats that can write."""
    return []
