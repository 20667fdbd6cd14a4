"""Units become text here and nowhere else: bytes, times, counts, addresses, field names.

Numbers get three significant digits and their unit; :class:`Shown` carries the exact value for
the hover text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any, NamedTuple

import msgspec

ABSENT = "\N{EN DASH}"
"""Stands for a value that is not known."""
TIMES = "\N{MULTIPLICATION SIGN}"
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB")
_TIME = (("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000))
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


class Shown(NamedTuple):
    """One field, ready for the screen."""

    label: str
    text: str
    exact: str
    """The value without rounding, for the hover text; empty when `text` is exact already."""
    mono: bool = False
    """Whether it is an address, a handle or a symbol."""


def three_digits(value: float) -> str:
    """Return a number with three significant digits and no exponent.

    Examples
    --------
    >>> three_digits(1.2391), three_digits(96.44), three_digits(123.4), three_digits(0.5)
    ('1.24', '96.4', '123', '0.5')
    """
    if value == int(value) and abs(value) < 1_000:
        return str(int(value))
    for decimals in (2, 1):
        text = f"{value:.{decimals}f}"
        if len(text.lstrip("-").partition(".")[0]) <= 3 - decimals:
            return text.rstrip("0").rstrip(".")
    return f"{value:,.0f}"


def bytes_text(size_bytes: int | None) -> str:
    """Return a size in binary units.

    Examples
    --------
    >>> bytes_text(98_714), bytes_text(512)
    ('96.4 KiB', '512 B')
    """
    if size_bytes is None:
        return ABSENT
    value, unit = float(size_bytes), 0
    while abs(value) >= 999.5 and unit < len(_BINARY) - 1:
        value /= 1024
        unit += 1
    return f"{three_digits(value)} {_BINARY[unit]}"


def bytes_unit(span_bytes: float) -> tuple[str, int]:
    """Return the unit in which an axis of this many bytes is read, and its bytes.

    Examples
    --------
    >>> bytes_unit(3_000_000), bytes_unit(0)
    (('MiB', 1048576), ('B', 1))
    """
    unit = 0
    while abs(span_bytes) >= 1024 ** (unit + 1) and unit < len(_BINARY) - 1:
        unit += 1
    return _BINARY[unit], 1024**unit


def duration_text(duration_ns: float | None) -> str:
    """Return a duration in the largest unit that keeps it at or above one.

    Examples
    --------
    >>> duration_text(1_240_000), duration_text(850), duration_text(75_000_000_000)
    ('1.24 ms', '850 ns', '75 s')
    """
    if duration_ns is None:
        return ABSENT
    name, scale = _TIME[0]
    for next_name, next_scale in _TIME[1:]:
        if abs(duration_ns) / next_scale < 0.9995:
            break
        name, scale = next_name, next_scale
    return f"{three_digits(duration_ns / scale)} {name}"


def signed_duration_text(difference_ns: float) -> str:
    """Return a difference of two durations with its sign.

    Examples
    --------
    >>> signed_duration_text(1860), signed_duration_text(0)
    ('+1.86 µs', '0 ns')
    """
    sign = "+" if difference_ns > 0 else "\N{MINUS SIGN}" if difference_ns < 0 else ""
    return f"{sign}{duration_text(abs(difference_ns))}"


def signed_bytes_text(difference_bytes: int) -> str:
    """Return a difference of two sizes with its sign.

    Examples
    --------
    >>> signed_bytes_text(4096)
    '+4 KiB'
    """
    sign = "+" if difference_bytes > 0 else "\N{MINUS SIGN}" if difference_bytes < 0 else ""
    return f"{sign}{bytes_text(abs(difference_bytes))}"


def count_text(count: int | None) -> str:
    """Return an exact count with thousands separated.

    Examples
    --------
    >>> count_text(98745)
    '98,745'
    """
    return ABSENT if count is None else f"{count:,}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> counted(1, "node"), counted(3000, "graph"), counted(2, "body", "bodies")
    ('1 node', '3,000 graphs', '2 bodies')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def address_text(address: int | None) -> str:
    """Return an address or handle in hexadecimal.

    Examples
    --------
    >>> address_text(0x7F00DEAD)
    '0x7f00dead'
    """
    return ABSENT if address is None else f"{address:#x}"


def dims_text(dims: Iterable[int] | None) -> str:
    r"""Return launch dimensions.

    Examples
    --------
    >>> dims_text((8, 4, 1)).replace("\N{MULTIPLICATION SIGN}", "x")
    '8 x 4 x 1'
    """
    return ABSENT if dims is None else f" {TIMES} ".join(f"{value:,}" for value in dims)


def brief_dims_text(dims: Iterable[int] | None) -> str:
    r"""Return launch dimensions for narrow places: trailing ones are left out.

    Examples
    --------
    >>> brief_dims_text((1024, 1, 1)), brief_dims_text((1, 1, 1))
    ('1,024', '1')
    """
    if dims is None:
        return ABSENT
    kept = list(dims)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return dims_text(kept)


def moment_text(unix_ns: int | None) -> str:
    """Return a moment in UTC, to the second.

    Examples
    --------
    >>> moment_text(1_700_000_000_000_000_000)
    '2023-11-14 22:13:20 UTC'
    """
    if unix_ns is None:
        return ABSENT
    try:
        return f"{datetime.fromtimestamp(unix_ns // 1_000_000_000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):
        return f"{unix_ns:,} ns after 1970"


def share_text(part: float, whole: float) -> str:
    """Return a share as a percentage; nothing of nothing is absent.

    Examples
    --------
    >>> share_text(1, 3), share_text(1, 100_000)
    ('33.3 %', '< 0.01 %')
    """
    if not whole:
        return ABSENT
    percent = 100 * part / whole
    # Next to nothing is not nothing.
    return "< 0.01 %" if 0 < percent < 0.01 else f"{three_digits(percent)} %"


def factor_text(factor: float | None) -> str:
    r"""Return a factor.

    Examples
    --------
    >>> factor_text(1.4213).replace("\N{MULTIPLICATION SIGN}", "x")
    '1.42 x'
    """
    return ABSENT if factor is None else f"{three_digits(factor)} {TIMES}"


def rate_text(bytes_per_second: float | None) -> str:
    """Return a bandwidth in decimal units, as devices' data sheets give it.

    Examples
    --------
    >>> rate_text(4.8e12), rate_text(None) == ABSENT
    ('4.8 TB/s', True)
    """
    if bytes_per_second is None:
        return ABSENT
    value, unit = float(bytes_per_second), 0
    while abs(value) >= 999.5 and unit < len(_DECIMAL) - 1:
        value /= 1000
        unit += 1
    return f"{three_digits(value)} {_DECIMAL[unit]}/s"


def frequency_text(mhz: float | None) -> str:
    """Return a clock frequency.

    Examples
    --------
    >>> frequency_text(1980), frequency_text(None) == ABSENT
    ('1,980 MHz', True)
    """
    return ABSENT if mhz is None else f"{mhz:,.0f} MHz"


def power_text(milliwatts: float | None) -> str:
    """Return a power draw.

    Examples
    --------
    >>> power_text(412_300)
    '412 W'
    """
    return ABSENT if milliwatts is None else f"{three_digits(milliwatts / 1000)} W"


def temperature_text(celsius: float | None) -> str:
    r"""Return a temperature.

    Examples
    --------
    >>> temperature_text(61).replace("\N{DEGREE SIGN}", "deg ")
    '61 deg C'
    """
    return ABSENT if celsius is None else f"{celsius:.0f} \N{DEGREE SIGN}C"


def spread_text(value_ns: float | None, spread_ns: float | None) -> str:
    r"""Return a duration with its spread.

    Examples
    --------
    >>> spread_text(572_000, 1_200).replace("\N{PLUS-MINUS SIGN}", "+-")
    '572 µs +- 1.2 µs'
    """
    if value_ns is None or spread_ns is None:
        return duration_text(value_ns)
    return f"{duration_text(value_ns)} \N{PLUS-MINUS SIGN} {duration_text(spread_ns)}"


def command_text(command: Iterable[str]) -> str:
    """Return a command as one would type it."""
    import shlex

    return shlex.join(list(command))


def type_text(name: str) -> str:
    """Return a node type for people.

    Examples
    --------
    >>> type_text("mem_alloc"), type_text("type_17")
    ('mem alloc', 'type 17')
    """
    return name.replace("_", " ")


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
        return Shown(label, bytes_text(value), f"{value:,} bytes")
    if name.endswith("_unix_ns"):
        return Shown(label.removesuffix(" unix"), moment_text(value), f"{value:,} ns after 1970")
    if name.endswith("_ns"):
        return Shown(label, duration_text(value), f"{value:,} ns")
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
        return Shown(label, hex_text(value), f"{len(value):,} bytes", mono=True)
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


_DIMENSIONS = ("grid", "block", "cluster", "cluster_dim", "cluster_dimension")


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


def version_text(version: int | None) -> str:
    """Return a CUDA version number, ``1000 * major + 10 * minor``, as ``"13.0"``."""
    return ABSENT if version is None else f"{version // 1000}.{version % 1000 // 10}"


def time_unit(span_ns: float) -> tuple[str, int]:
    """Return the unit in which an axis of this length is read, and its nanoseconds.

    Examples
    --------
    >>> time_unit(5_000_000), time_unit(90)
    (('ms', 1000000), ('ns', 1))
    """
    name, scale = _TIME[0]
    for next_name, next_scale in _TIME[1:]:
        if span_ns / next_scale < 1:
            break
        name, scale = next_name, next_scale
    return name, scale
