"""Results of analyses as text: their figures with units, whichever analysis they came from."""

from __future__ import annotations

from typing import Any

import msgspec

from capture.analysis.base import Quantity, Result, Unit

from . import format as text

SHARES = ("share", "tail", "occupancy", "utilisation")
"""Words in the name of a ratio that say that it is a part of a whole, and no factor."""


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
    return text.quantity_text(value, str(unit))


def written(result: Result, template: str) -> str:
    """Return the summary or a note of a result with its figures written out."""
    figures = {
        name: Quantity(value_text(name, figure.value, figure.unit), Unit.TEXT)
        for name, figure in result.figures.items()
    }
    return msgspec.structs.replace(result, figures=figures).text(template)


def summary(result: Result) -> str:
    """Return a result's summary, or why there is none, as a sentence."""
    if not result.present:
        reason = result.absent_reason.rstrip(".")
        return f"{reason[:1].upper()}{reason[1:]}."
    return written(result, result.summary)
