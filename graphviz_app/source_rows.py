"""Rows of the source page: files, and the lines of one."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from capture.analysis.origin_totals import Costs, Totals, everything
from capture.analysis.source_lines import FileRow, LineRow

from . import format as text
from .context import Context
from .figures.origin_colourings import PHASE_COLOURS
from .origin_report import OriginReport
from .origin_rows import find_in_graph
from .search import term

LAUNCHED, BACKWARD = PHASE_COLOURS[1], PHASE_COLOURS[2]
MOST_LINES = 20_000
MOST_CHARACTERS = 400


def chosen_place(view: str, files: Sequence[FileRow]) -> tuple[FileRow | None, int]:
    """Return the file and line that an address names; the first file when it names none.

    Parameters
    ----------
    view : str
        ``FILE`` or ``FILE:LINE``.
    files : sequence of FileRow
    """
    named = {file.file: file for file in files}
    if view in named:
        return named[view], 0
    file, _, number = view.rpartition(":")
    if file in named and number.isdecimal():
        return named[file], int(number[:9])
    if view:
        return None, 0
    return (files[0] if files else None), 0


def line_rows(
    context: Context,
    report: OriginReport,
    file: FileRow,
    lines: Sequence[str],
    chosen: int = 0,
    selected: Container[int] = (),
) -> list[dict[str, Any]]:
    """Return every line of a file for ag-grid; without its text, the lines that have nodes.

    Parameters
    ----------
    context : Context
    report : OriginReport
    file : FileRow
    lines : sequence of str
        Its text; empty where there is none.
    chosen : int
        Number of the line that is marked.
    selected : container of int
        Lines of the node that is selected, marked as well.
    """
    charged = {row.line.line: row for row in file.lines}
    whole = max((_size(report, row) for row in file.lines), default=0)
    numbers: Sequence[int] = range(1, len(lines) + 1)
    if not lines or len(lines) > MOST_LINES:
        numbers = sorted(charged)
    past = [number for number in sorted(charged) if number > len(lines)] if lines else []
    found = []
    for number in [*numbers, *(past if len(lines) <= MOST_LINES else [])]:
        row: dict[str, Any] = {
            "id": str(number),
            "line": number,
            "chosen": number == chosen or number in selected,
        }
        if number <= len(lines):
            row["code"] = lines[number - 1][:MOST_CHARACTERS]
        charge = charged.get(number)
        if charge is not None:
            if "code" not in row:
                row["where"] = f"in {charge.line.function}" if charge.line.function else ""
            row |= _charged(context, report, charge, whole)
        found.append(row)
    return found


def _size(report: OriginReport, row: LineRow) -> int:
    return row.own_ns if report.is_timed else row.own_nodes


def _charged(context: Context, report: OriginReport, row: LineRow, whole: float) -> dict[str, Any]:
    costs = report.costs
    own = everything((row.launched, row.backward))
    values: dict[str, Any] = {}
    texts: dict[str, str] = {}
    exact: dict[str, str] = {}
    if own.nodes:
        values["nodes"] = own.nodes
        texts["nodes"] = text.count_text(own.nodes)
        exact["nodes"] = ", ".join(
            f"{text.counted(part.nodes, 'node')} {what}"
            for part, what in (
                (row.launched, "launched here"),
                (row.backward, "of the backward pass"),
            )
            if part.nodes
        )
    for name, totals in (("time", row.launched), ("back", row.backward), ("calls", row.inclusive)):
        if totals.timed:
            values[name] = totals.time_ns
            texts[name] = text.duration_text(totals.time_ns)
            exact[name] = f"{totals.time_ns:,} ns of {text.counted(totals.nodes, 'node')}"
    if own.timed and costs.total_ns:
        values["share"] = own.time_ns / costs.total_ns
        texts["share"] = text.share_text(own.time_ns, costs.total_ns)
        exact["share"] = f"{own.time_ns:,} of {costs.total_ns:,} ns"
    if own.moved_bytes:
        values["moved"] = own.moved_bytes
        texts["moved"] = text.bytes_text(own.moved_bytes)
        exact["moved"] = text.exact_bytes_text(own.moved_bytes)
    if own.allocated_bytes:
        values["allocated"] = own.allocated_bytes
        texts["allocated"] = text.bytes_text(own.allocated_bytes)
        exact["allocated"] = text.exact_bytes_text(own.allocated_bytes)
    if own.shared:
        values["shared"] = own.shared
        texts["shared"] = text.count_text(own.shared)
    found: dict[str, Any] = {**values, "texts": texts, "exact": exact}
    if own.nodes:
        found["link"] = find_in_graph(
            context, term("source", f"{report.short_files[row.line.file]}:{row.line.line}")
        )
    if whole:
        found["bars"] = [
            [_part(part, report) / whole, colour, _words(part, what, report)]
            for part, colour, what in (
                (row.launched, LAUNCHED, "launched here"),
                (row.backward, BACKWARD, "of the backward pass"),
            )
            if _part(part, report)
        ]
    return found


def _part(totals: Totals, report: OriginReport) -> int:
    return totals.time_ns if report.is_timed else totals.nodes


def _words(totals: Totals, what: str, report: OriginReport) -> str:
    nodes = text.counted(totals.nodes, "node")
    if not report.is_timed:
        return f"{nodes} {what}"
    return f"{text.duration_text(totals.time_ns)}, {nodes} {what}"


def file_note(file: FileRow, costs: Costs) -> str:
    """Return what a file's nodes take, in a few words."""
    nodes = text.counted(file.own_nodes, "node")
    if not file.launched.timed + file.backward.timed:
        return nodes
    share = f", {text.share_text(file.own_ns, costs.total_ns)}" if costs.total_ns else ""
    return f"{text.duration_text(file.own_ns)}{share}, {nodes}"


def has(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Return whether any row has a value in a column."""
    return any(row.get(name) for row in rows)
