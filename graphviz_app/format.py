"""Units become text here and nowhere else: bytes, times, counts, addresses.

Numbers get three significant digits and their unit; ``exact_*`` texts, for the hover, keep all.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

ABSENT = "\N{EN DASH}"
"""Stands for a value that is not known."""
TIMES = "\N{MULTIPLICATION SIGN}"
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB")
_TIME = (("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000))


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
    return _scaled_text(float(size_bytes), _BINARY, 1024)


def _scaled_text(value: float, units: tuple[str, ...], step: int) -> str:
    """Return a value in the largest unit, each `step` times the one before, that keeps it short."""
    unit = 0
    while abs(value) >= 999.5 and unit < len(units) - 1:
        value /= step
        unit += 1
    return f"{three_digits(value)} {units[unit]}"


def exact_bytes_text(size_bytes: int) -> str:
    """Return a size to the byte, for the hover text.

    Examples
    --------
    >>> exact_bytes_text(98_714)
    '98,714 bytes'
    """
    return f"{size_bytes:,} bytes"


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


def exact_duration_text(duration_ns: float) -> str:
    """Return a duration to the nanosecond, for the hover text.

    Examples
    --------
    >>> exact_duration_text(1_240_017)
    '1,240,017 ns'
    """
    return f"{duration_ns:,.0f} ns"


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
    return f"{_scaled_text(float(bytes_per_second), _DECIMAL, 1000)}/s"


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
