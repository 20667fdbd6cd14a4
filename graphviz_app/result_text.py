"""Results of analyses as text: their figures with units, whichever analysis they came from."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import msgspec

from capture.analysis.base import Quantity, Result, Severity, Unit

from . import format as text

PLACES = (" at", " by")
"""How names of columns end whose texts are lines of a script: several of them can be in a row."""
_LONG_PLACE = re.compile(r"^.*[/\\]([^/\\]+[/\\][^/\\]+:\d+(?: \S+)?)$")
_ONE = re.compile(
    r"(?<![\d.,])1 (address|block|chain|edge|function|gap|graph|kernel|line|module|node|operator|"
    r"output|piece|pool|replay|tensor|workspace)(?:e?s)\b"
)
"""What analyses count is written in the plural; of one it is read in the singular."""
SHARES = ("share", "tail", "occupancy", "utilisation")
"""Words in the name of a ratio that say that it is a part of a whole, and no factor."""
SHAPES = {
    Severity.INFO: "\N{WHITE CIRCLE}",
    Severity.NOTICE: "\N{BLACK UP-POINTING TRIANGLE}",
    Severity.WARNING: "\N{BLACK DIAMOND}",
}
"""What marks a severity besides its colour."""


def quantity_text(value: object, unit: str) -> str:
    """Return a value of an analysis as text, by its unit.

    A ratio is a factor here; :func:`~graphviz_app.format.share_text` writes shares.

    Examples
    --------
    >>> quantity_text(1500, "ns"), quantity_text(0.253, "ratio"), quantity_text(1.42, "ratio")
    ('1.5 µs', '0.253', '1.42')
    """
    if value is None or value == "":
        return text.ABSENT
    if isinstance(value, str):
        return f"node {value}" if unit == "node" else value
    if not isinstance(value, int | float):
        return str(value)
    if unit == "ns":
        return text.duration_text(value)
    if unit == "bytes":
        return text.bytes_text(round(value))
    if unit == "bytes_per_second":
        return text.rate_text(value)
    if unit == "ratio":
        # What is next to nothing is not worth its digits.
        small = 0 < abs(value) < 0.01
        return "< 0.01" if small else f"{value:.3g}" if abs(value) < 1 else text.three_digits(value)
    return f"{value:,}" if isinstance(value, int) else text.three_digits(value)


def exact_text(value: object, unit: str) -> str:
    """Return a value of an analysis without rounding, for the hover text; empty for texts.

    Examples
    --------
    >>> exact_text(1500, "ns"), exact_text("gemm", "text")
    ('1,500 ns', '')
    """
    if isinstance(value, str) or not isinstance(value, int | float):
        return ""
    name = {"ns": " ns", "bytes": " bytes", "bytes_per_second": " bytes/s"}.get(unit, "")
    return f"{value:,}{name}" if isinstance(value, int) else f"{value!r}{name}"


def value_text(name: str, value: Any, unit: Unit) -> str:
    """Return one value of a result as text.

    Parameters
    ----------
    name : str
        Of the figure or column.
    value : int, float, str or None
    unit : Unit

    Examples
    --------
    >>> value_text("top_share", 0.25, Unit.RATIO), value_text("waves", 0.25, Unit.RATIO)
    ('25 %', '0.25')
    """
    is_share = unit is Unit.RATIO and any(word in name for word in SHARES)
    if is_share and isinstance(value, int | float):
        return text.share_text(value, 1)
    return quantity_text(value, str(unit))


def short_place(value: str) -> str:
    """Return a line of a script with the end of its path alone; other texts as they are.

    Examples
    --------
    >>> short_place("/home/me/project/serve/model.py:65 main"), short_place("handed out again")
    ('serve/model.py:65 main', 'handed out again')
    """
    return _LONG_PLACE.sub(r"\1", value)


def row_text(result: Result, row: int, leave_out: Collection[str] = ()) -> str:
    """Return a row of a result in one line, without its graph, its node and how sure it is.

    What does not speak for itself, such as a count, has the name of its column before it.

    Parameters
    ----------
    result : Result
    row : int
    leave_out : collection of str
        Names of columns.
    """
    parts = []
    for column, cell in zip(result.columns, result.rows[row], strict=True):
        if column.unit in (Unit.GRAPH, Unit.NODE) or column.name in {"confidence", *leave_out}:
            continue
        if cell is None or cell == "":
            continue
        value = short_place(value_text(column.name, cell, column.unit))
        named = column.unit is Unit.COUNT or column.name.endswith(PLACES)
        parts.append(f"{column.name}: {value}" if named else value)
    return " · ".join(parts)


def written(result: Result, template: str) -> str:
    """Return the summary or a note of a result with its figures written out."""
    figures = {
        name: Quantity(value_text(name, figure.value, figure.unit), Unit.TEXT)
        for name, figure in result.figures.items()
    }
    return _ONE.sub(r"1 \1", msgspec.structs.replace(result, figures=figures).text(template))


def summary(result: Result) -> str:
    """Return a result's summary, or why there is none, as a sentence."""
    if not result.present:
        reason = result.absent_reason.rstrip(".")
        return f"{reason[:1].upper()}{reason[1:]}."
    return written(result, result.summary)
