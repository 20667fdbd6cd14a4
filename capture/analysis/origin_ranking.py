"""The frame of results that add up nodes and times by where they come from."""

from __future__ import annotations

from collections.abc import Sequence

from .base import Cell, Column, Quantity, Result, Unit
from .origin_notes import add_origin_notes, add_shares
from .origin_totals import Costs, Totals
from .subject import Subject

TOP = 3


def ranking(
    subject: Subject,
    costs: Costs,
    columns: Sequence[Column],
    rows: Sequence[tuple[Cell, ...]],
    *,
    origin: str,
    named: str,
    counts: tuple[int, int],
    summary: str,
    top: Sequence[tuple[str, Totals]],
    left_out: bool = False,
) -> Result:
    """Return rows as a result, with what comes first and how it was got in words.

    Parameters
    ----------
    subject : Subject
    costs : Costs
    columns : sequence of Column
    rows : sequence of tuple
        What the table shows.
    origin : str
        Column of the origins that the rows rest on.
    named : str
        What a row is, in the singular: ``"module"``.
    counts : tuple of int
        How many of them there are, and how many nodes they launched.
    summary : str
        Names the figures ``{NAMEDs}``, ``{NAMED_nodes}`` and ``{all_nodes}``, and ends where those
        with the largest shares follow.
    top : sequence of tuple of str and Totals
        What comes first, the largest first.
    left_out : bool
        Whether the table shows less than there is.
    """
    assert subject.origin_index is not None
    result = Result(columns=list(columns), rows=list(rows))
    figures = result.figures
    figures[f"{named}s"] = Quantity(counts[0], Unit.COUNT)
    figures[f"{named}_nodes"] = Quantity(counts[1], Unit.COUNT)
    figures["all_nodes"] = Quantity(subject.origin_index.count, Unit.COUNT)
    result.summary = f"{summary}: {add_shares(result, top, costs)}."
    if left_out:
        figures["rows"] = Quantity(len(rows), Unit.COUNT)
        result.notes.append(f"The table shows the first {{rows}} of {{{named}s}} {named}s.")
    add_origin_notes(result, subject, origin)
    return result
