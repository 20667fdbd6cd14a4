"""Any field of the model as text, by the unit in its name."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from .format import (
    ABSENT,
    address_text,
    bytes_text,
    dims_text,
    duration_text,
    exact_bytes_text,
    exact_duration_text,
    moment_text,
)

_WORDS = {
    "gpu": "GPU",
    "gpus": "GPUs",
    "cuda": "CUDA",
    "id": "id",
    "ptx": "PTX",
    "l2": "L2",
    "pid": "pid",
    "lod": "LOD",
}
_DIMENSIONS = ("grid", "block", "cluster", "cluster_dim", "cluster_dimension")


class Shown(NamedTuple):
    """One field, ready for the screen."""

    label: str
    text: str
    exact: str
    """The value without rounding, for the hover text; empty when `text` is exact already."""
    mono: bool = False
    """Whether it is an address, a handle or a symbol."""


def label_text(name: str) -> str:
    """Return a field's name without its unit.

    Examples
    --------
    >>> label_text("dynamic_shared_bytes"), label_text("capture_duration_ns")
    ('dynamic shared', 'capture duration')
    """
    for suffix in ("_bytes", "_ns"):
        if name.endswith(suffix) and len(name) > len(suffix):
            name = name[: -len(suffix)]
    return " ".join(_WORDS.get(word, word) for word in name.split("_") if word)


def show(name: str, value: Any) -> Shown:
    """Return any field of the model as text, by the unit in its name.

    Parameters
    ----------
    name : str
        ``*_bytes``, ``*_ns``, ``*address`` and ``*handle`` (also in the plural) have units.
    value : object

    Examples
    --------
    >>> show("size_bytes", 4096)
    Shown(label='size', text='4 KiB', exact='4,096 bytes', mono=False)
    """
    label = label_text(name)
    if isinstance(value, bool) or value is None or not isinstance(value, int):
        return _show_other(label, name, value)
    if name.endswith("_bytes"):
        return Shown(label, bytes_text(value), exact_bytes_text(value))
    if name.endswith("_unix_ns"):
        return Shown(label.removesuffix(" unix"), moment_text(value), f"{value:,} ns after 1970")
    if name.endswith("_ns"):
        return Shown(label, duration_text(value), exact_duration_text(value))
    if name.endswith(("address", "handle", "addresses", "handles")):
        return Shown(label, address_text(value), f"{value:,}", mono=True)
    return Shown(label, f"{value:,}", "")


def _show_other(label: str, name: str, value: Any) -> Shown:
    if value is None or value == "":
        return Shown(label, ABSENT, "")
    if isinstance(value, bool):
        return Shown(label, "yes" if value else "no", "")
    if isinstance(value, float):
        return Shown(label, f"{value:.6g}", repr(value))
    if isinstance(value, Enum):
        return Shown(label, str(value.value), "")
    if isinstance(value, bytes):
        return Shown(label, hex_text(value), exact_bytes_text(len(value)), mono=True)
    if isinstance(value, msgspec.Struct):
        value = {field: getattr(value, field) for field in value.__struct_fields__}
    if isinstance(value, Mapping):
        parts = (show(str(key), item) for key, item in value.items() if item not in (None, ""))
        return Shown(label, ", ".join(f"{part.label} {part.text}" for part in parts) or ABSENT, "")
    if isinstance(value, (list, tuple)):
        if len(value) == 3 and name in _DIMENSIONS and all(isinstance(item, int) for item in value):
            return Shown(label, dims_text(value), "")
        return Shown(label, ", ".join(show(name, item).text for item in value) or ABSENT, "")
    return Shown(label, str(value), "")


def hex_text(data: bytes, limit: int = 32) -> str:
    """Return bytes in hexadecimal, eight at a time; what is past `limit` is counted.

    Examples
    --------
    >>> hex_text(bytes(10), limit=8)
    '0000000000000000 … 2 bytes more'
    """
    shown = data[:limit]
    text = " ".join(shown[i : i + 8].hex() for i in range(0, len(shown), 8))
    more = len(data) - len(shown)
    return f"{text} … {more:,} bytes more" if more > 0 else text
