"""Rows of the tables of modules and operators."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

from capture.analysis.module_memory import Held
from capture.analysis.module_tree import ModuleRow
from capture.analysis.operator_calls import NO_OPERATOR, given_bytes
from capture.analysis.origin_totals import Costs, Totals
from capture.origins import PHASES

from . import format as text
from .components.result_view import link_to
from .components.tree_table import Bar, TreeRow
from .context import Context
from .figures.origin_colourings import PHASE_COLOURS
from .origin_report import OriginReport
from .origin_text import (
    PHASE_NAMES,
    class_text,
    inputs_text,
    listed,
    module_text,
    module_view,
)
from .search import term

MOST_ROWS = 3_000


def find_in_graph(context: Context, search: str) -> dict[str, str]:
    """Return a link that finds nodes in the graph."""
    changes: dict[str, Any] = {"page": "graph", "view": "", "node": None, "search": search}
    return link_to(context, changes)


def bars_of(totals: Totals, whole: float, *, timed: bool) -> list[Bar]:
    """Return a bar of phases, as parts of `whole`: nanoseconds, or nodes where none was timed.

    What is larger than `whole` fills the bar.
    """
    sizes = totals.phase_ns if timed else totals.phase_nodes
    whole = max(whole, sum(sizes))
    found = []
    for phase in (*range(1, len(PHASES)), 0):
        value = sizes[phase]
        if value and whole:
            words = text.duration_text(value) if timed else text.counted(value, "node")
            words = f"{PHASE_NAMES[phase]} {words}"
            found.append(Bar(value / whole, PHASE_COLOURS[phase], words))
    return found


def totals_cells(
    totals: Totals, costs: Costs
) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """Return what the columns of totals sort by, show, and show on hover."""
    values: dict[str, Any] = {"nodes": totals.nodes, "shared": totals.shared or None}
    texts = {
        "nodes": text.count_text(totals.nodes),
        "shared": text.count_text(totals.shared) if totals.shared else "",
    }
    exact: dict[str, str] = {}
    if totals.timed:
        times = {
            "time": totals.time_ns,
            "forward": totals.phase_ns[1],
            "backward": totals.phase_ns[2],
            "optimizer": totals.phase_ns[3],
        }
        values |= {name: value or None for name, value in times.items()}
        texts |= {name: text.duration_text(value) if value else "" for name, value in times.items()}
        exact |= {name: text.exact_duration_text(value) for name, value in times.items() if value}
        timed = f"{totals.timed:,} of {totals.nodes:,} nodes timed"
        exact["time"] = f"{totals.time_ns:,} ns; {timed}"
        for name, part, whole in (
            ("share", totals.time_ns, costs.total_ns),
            ("path", totals.path_ns, costs.path_ns),
        ):
            if whole:
                values[name] = part / whole
                texts[name] = text.share_text(part, whole) if part else ""
                exact[name] = f"{part:,} of {whole:,} ns"
    if totals.moved_bytes:
        values["moved"] = totals.moved_bytes
        texts["moved"] = text.bytes_text(totals.moved_bytes)
        exact["moved"] = text.exact_bytes_text(totals.moved_bytes)
    if totals.allocated_bytes:
        values["allocated"] = totals.allocated_bytes
        texts["allocated"] = text.bytes_text(totals.allocated_bytes)
        exact["allocated"] = text.exact_bytes_text(totals.allocated_bytes)
    return values, texts, exact


def held_text(held: Held) -> str:
    """Return what a module's tensors are, in bytes of each kind.

    Examples
    --------
    >>> held_text(Held(weights_bytes=2048, state_bytes=8))
    'parameters and buffers 2 KiB, optimizer state 8 B; 2,056 bytes'
    """
    kinds = (
        ("parameters and buffers", held.weights_bytes),
        ("gradients", held.gradients_bytes),
        ("optimizer state", held.state_bytes),
    )
    words = ", ".join(f"{name} {text.bytes_text(size)}" for name, size in kinds if size)
    return f"{words}; {text.exact_bytes_text(held.total_bytes)}"


def whole_of(report: OriginReport, rows: list[Totals]) -> float:
    """Return what full bars stand for: the largest of the rows."""
    sizes = (totals.time_ns if report.is_timed else totals.nodes for totals in rows)
    return max(sizes, default=0)


def shown_modules(report: OriginReport, chosen: str = "") -> list[ModuleRow]:
    """Return the modules that are sent to the browser: whole levels, and the way to the chosen one.

    A model of a hundred layers has a thousand; what is past :data:`MOST_ROWS` search finds.
    """
    rows = report.modules
    if len(rows) <= MOST_ROWS:
        return rows
    sizes = Counter(row.depth for row in rows)
    left, depth = MOST_ROWS - sizes[0], 0
    while sizes[depth + 1] and sizes[depth + 1] <= left:
        depth += 1
        left -= sizes[depth]
    found = {at for at, row in enumerate(rows) if row.depth <= depth}
    next_level = (at for at, row in enumerate(rows) if row.depth == depth + 1)
    found.update(islice(next_level, max(left, 0)))
    at = next((at for at, row in enumerate(rows) if _module_id(row) == chosen), -1)
    while at >= 0:
        found.add(at)
        at = rows[at].parent
    return [rows[at] for at in sorted(found)]


def module_rows(context: Context, report: OriginReport, chosen: str = "") -> list[TreeRow]:
    """Return the modules as rows of a tree; a name finds its nodes in the graph.

    Parameters
    ----------
    context : Context
    report : OriginReport
    chosen : str
        Id of a row that has to be among them.
    """
    index, costs = report.index, report.costs
    inner = [row.total for row in report.modules if row.parent >= 0]
    whole = whole_of(report, inner or [row.total for row in report.modules])
    found: list[TreeRow] = []
    for row in shown_modules(report, chosen):
        values, texts, exact = totals_cells(row.total, costs)
        if row.own.timed:
            values["own"] = row.own.time_ns
            texts["own"] = text.duration_text(row.own.time_ns)
            exact["own"] = f"{row.own.time_ns:,} ns of {text.counted(row.own.nodes, 'node')}"
        held = report.held.get(row.module)
        if held is not None:
            values["holds"] = held.total_bytes
            texts["holds"] = text.bytes_text(held.total_bytes)
            exact["holds"] = held_text(held)
        link = None
        if row.module >= 0:
            link = find_in_graph(context, module_term(report, row.module))
        module = index.modules[row.module] if row.module >= 0 else None
        place = f"\n{module.file}:{module.line}" if module is not None and module.file else ""
        found.append(
            TreeRow(
                id=_module_id(row),
                parent=_module_id(report.modules[row.parent]) if row.parent >= 0 else "",
                name=row.name if row.path else class_text(row.name),
                note=class_text(row.class_name) if row.path else "",
                hint=f"{row.path or row.name}{place}",
                link=link,
                values=values,
                texts=texts,
                exact=exact,
                bars=bars_of(row.total, whole, timed=report.is_timed),
            )
        )
    return found


def _module_id(row: ModuleRow) -> str:
    return f"m{row.module}"


def module_term(report: OriginReport, module: int) -> str:
    """Return the search that finds the nodes inside a module."""
    return term("module", module_view(report.index, module))


def chosen_module(report: OriginReport, view: str) -> str:
    """Return the id of the row that an address names; empty for none."""
    for row in report.modules:
        if row.module >= 0 and module_view(report.index, row.module) == view:
            return _module_id(row)
    return ""


def class_rows(context: Context, report: OriginReport) -> list[TreeRow]:
    """Return the classes of modules as rows."""
    whole = whole_of(report, [row.total for row in report.classes])
    found = []
    for at, row in enumerate(report.classes):
        values, texts, exact = totals_cells(row.total, report.costs)
        values |= {"modules": row.modules}
        texts |= {"modules": text.count_text(row.modules)}
        if row.own.timed:
            values["own"] = row.own.time_ns
            texts["own"] = text.duration_text(row.own.time_ns)
        name = row.class_name
        shown = class_text(name)
        found.append(
            TreeRow(
                id=f"c{at}",
                parent="",
                name=shown or "class not known",
                hint=name,
                link=find_in_graph(context, term("class", name)) if name else None,
                values=values,
                texts=texts,
                exact=exact,
                bars=bars_of(row.total, whole, timed=report.is_timed),
            )
        )
    return found


def operator_rows(context: Context, report: OriginReport) -> list[TreeRow]:
    """Return operators, each with what it was called with; a name finds its nodes."""
    index, costs = report.index, report.costs
    places = {operator: at for at, operator in reversed(list(enumerate(index.origins.operators)))}
    whole = whole_of(report, [row.total for row in report.operators])
    found: list[TreeRow] = []
    for at, row in enumerate(report.operators):
        values, texts, exact = totals_cells(row.total, costs)
        modules = [module_text(index.modules[module]) for module in row.modules]
        values |= {"inputs": len(row.inputs) or None, "modules": len(modules) or None}
        texts |= {
            "inputs": text.count_text(len(row.inputs)) if row.inputs else "",
            "modules": text.count_text(len(modules)) if modules else "",
        }
        exact["modules"] = listed(modules, 20)
        found.append(
            TreeRow(
                id=f"o{at}",
                parent="",
                name=row.name or NO_OPERATOR,
                hint=row.name,
                link=find_in_graph(context, term("operator", row.name)) if row.name else None,
                values=values,
                texts=texts,
                exact=exact,
                bars=bars_of(row.total, whole, timed=report.is_timed),
            )
        )
        for number, item in enumerate(row.inputs):
            values, texts, exact = totals_cells(item.total, costs)
            shown = inputs_text(item.operator)
            size_bytes = given_bytes(item.operator)
            if size_bytes:
                values["given"] = size_bytes
                texts["given"] = text.bytes_text(size_bytes)
                exact["given"] = text.exact_bytes_text(size_bytes)
            found.append(
                TreeRow(
                    id=f"o{at}.{number}",
                    parent=f"o{at}",
                    name=shown,
                    hint=shown,
                    link=find_in_graph(context, term("inputs", str(places[item.operator]))),
                    values=values,
                    texts=texts,
                    exact=exact,
                    bars=bars_of(item.total, whole, timed=report.is_timed),
                )
            )
    return found


def chosen_operator(report: OriginReport, view: str) -> str:
    """Return the id of the row that an address names; empty for none."""
    names = [row.name for row in report.operators]
    return f"o{names.index(view)}" if view and view in names else ""
