"""Fields of two things in two columns: before beside after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from ..comparing.sheets import Row, Sheet
from ..format import ABSENT
from .prose import prose

SIDES = ("before", "after")


def sheet_view(sheet: Sheet) -> Component:
    """Return a heading with its fields; equal ones take one cell for both sides."""
    parts: list[Any] = [html.H3(sheet.title)]
    if sheet.rows:
        parts.append(sheet_table(sheet.rows))
    if sheet.absent:
        parts.append(html.P(prose(sheet.absent), className="absent"))
    return html.Section(parts, className="sheet-section")


def sheet_table(rows: Sequence[Row]) -> Component:
    """Return the fields as a table: a column for each side that has any of them."""
    lacking = [all(getattr(row, side) is None for row in rows) for side in SIDES]
    sides = [side for side, lacks in zip(SIDES, lacking, strict=True) if not lacks] or list(SIDES)
    head = html.Tr([html.Th(""), *[html.Th(side) for side in sides]])
    body: list[Component] = []
    for row in rows:
        cells = _cells(row) if len(sides) == 2 else [html.Td(getattr(row, sides[0]) or ABSENT)]
        body.append(html.Tr([html.Th(row.label, title=row.hint or None), *cells]))
        if row.note:
            note = html.Td(row.note, colSpan=2, className="sheet-note")
            body.append(html.Tr([html.Th(""), note]))
    return html.Table([html.Thead(head), html.Tbody(body)], className="sheet")


def _cells(row: Row) -> list[Component]:
    one, other = row.before, row.after
    if one == other and one is not None:
        return [html.Td(one, colSpan=2, className="both")]
    names = "differs loud" if row.loud else "differs"
    return [
        html.Td(one if one is not None else ABSENT, className=names),
        html.Td(other if other is not None else ABSENT, className=names),
    ]
