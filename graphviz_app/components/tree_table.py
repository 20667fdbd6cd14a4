"""A table whose rows open and close like a tree; siblings sort, and stay under their parent.

The tree is folded in the browser (``assets/shell/tree.js``): ag-grid's own tree data is not part
of its free edition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dash.development.base_component import Component

from . import grids

VISIBLE = 40
"""Rows that are shown before anything is opened, as far as the tree's shape allows."""


@dataclass(frozen=True)
class Bar:
    """A part of a bar: its share of the column's width between 0 and 1, its colour, its words."""

    share: float
    colour: str
    text: str


@dataclass(frozen=True)
class TreeRow:
    """One row.

    Attributes
    ----------
    id : str
        Unique in the table.
    parent : str
        Id of the row around it; it has to come before. Empty for the outermost.
    name : str
        In the first column, before `note`.
    note : str
    hint : str
        Hover text of the name.
    link : dict or None
        ``href`` and ``go``; see :func:`~graphviz_app.components.result_view.link_to`.
    values : dict
        What columns sort by, by field.
    texts, exact : dict of str to str
        What they show, and their hover texts.
    bars : sequence of Bar
    """

    id: str
    parent: str
    name: str
    note: str = ""
    hint: str = ""
    link: dict[str, str] | None = None
    values: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    exact: dict[str, str] = field(default_factory=dict)
    bars: Sequence[Bar] = ()


def open_rows(rows: Sequence[TreeRow], chosen: str = "") -> set[str]:
    """Return the rows that are open at first: whole levels while they fit, and what leads to one.

    Parameters
    ----------
    rows : sequence of TreeRow
    chosen : str
        Id of a row that has to be seen.
    """
    depth: dict[str, int] = {}
    counts: dict[int, int] = {}
    parents = {row.id: row.parent for row in rows}
    for row in rows:
        depth[row.id] = depth[row.parent] + 1 if row.parent else 0
        counts[depth[row.id]] = counts.get(depth[row.id], 0) + 1
    seen, level = counts.get(0, 0), 0
    while level + 1 in counts and seen + counts[level + 1] <= VISIBLE:
        level += 1
        seen += counts[level]
    found = {id_ for id_, deep in depth.items() if deep < level}
    above = parents.get(chosen, "")
    while above:
        found.add(above)
        above = parents[above]
    return found


def tree_table(
    id_: str,
    title: str,
    columns: Sequence[dict[str, Any]],
    rows: Sequence[TreeRow],
    *,
    bars: str = "",
    bars_hint: str = "",
    chosen: str = "",
) -> Component:
    """Return a table of rows that open.

    Parameters
    ----------
    id_ : str
    title : str
        Of the first column.
    columns : sequence of dict
        ag-grid's definitions of the others; see :func:`number_column`.
    rows : sequence of TreeRow
        Parents before their children.
    bars, bars_hint : str
        Title and hover text of the column of bars; left out without one.
    chosen : str
        Id of the row that is marked and scrolled to.
    """
    opened = open_rows(rows, chosen)
    holders = {row.parent for row in rows}
    above: dict[str, list[tuple[str, bool]]] = {"": []}
    data = []
    for row in rows:
        around = above[row.parent]
        above[row.id] = [*around, (row.id, row.id in opened)]
        data.append(
            {
                "id": row.id,
                "parent": row.parent,
                "above": around,
                "open": row.id in opened,
                "holds": row.id in holders,
                "name": row.name,
                "note": row.note,
                "hint": row.hint,
                "link": row.link,
                "bars": [[bar.share, bar.colour, bar.text] for bar in row.bars],
                "chosen": row.id == chosen,
                "tree": f"{id_} {chosen}",
                "texts": row.texts,
                "exact": row.exact,
                **row.values,
            }
        )
    first: dict[str, Any] = {
        "field": "name",
        "headerName": title,
        "cellRenderer": "TreeCell",
        "flex": 3,
        "minWidth": 190,
    }
    drawn: dict[str, Any] = {
        "field": "bars",
        "headerName": bars,
        "headerTooltip": bars_hint,
        "cellRenderer": "PartBar",
        "cellDataType": False,
        "sortable": False,
        "flex": 1,
        "minWidth": 84,
    }
    return grids.grid(
        id_,
        [first, *([drawn] if bars else []), *columns],
        class_name="grid tree",
        marked="isMarked",
        defaults=grids.WRAPPED_HEADERS,
        options={
            "enableCellTextSelection": True,
            "isExternalFilterPresent": {"function": "true"},
            "doesExternalFilterPass": {"function": "treeShown(params)"},
            "postSortRows": {"function": "treeOrder(params)"},
        },
        rowData=data,
        scrollTo={"rowId": chosen, "rowPosition": "middle"} if chosen else None,
    )


def number_column(
    name: str, title: str, hint: str, width: int = 76, *, hide: bool = False
) -> dict[str, Any]:
    """Return ag-grid's definition of a column of numbers, whose texts the rows hold."""
    return {
        "field": name,
        "headerName": title,
        "headerTooltip": hint,
        "width": width,
        "hide": hide,
        "type": "rightAligned",
        "cellClass": "number",
        "valueFormatter": {"function": "told(params)"},
        "tooltipValueGetter": {"function": "toldExactly(params)"},
    }
