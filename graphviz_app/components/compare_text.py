"""What a comparison says in words and tables: memory, findings, and the verdict on an update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from capture.compare import UpdateVerdict, Violation
from capture.compare.update_rules import RULES
from capture.model import EvidenceKind

from .. import result_text
from ..comparing import whole_sheets
from ..comparing.compared import Compared
from ..comparing.report import both_paths, within_noise
from ..comparing.verdict_text import setting_rows, verdict_facts
from ..context import Context
from ..format import count_text, counted
from .compare_sheet import sheet_table
from .links import go_link
from .prose import prose

MOST_ROWS = 500
"""Rules and kernels that are listed; all are in the JSON of ``cglens compare``."""


def memory_view(compared: Compared) -> Component:
    """Return memory and findings of both sides."""
    sizes = whole_sheets.size_rows(compared.diff.sizes)
    parts: list[Any] = [html.H2("Memory")]
    if sizes:
        parts.append(sheet_table(sizes))
    missing = _no_memory(compared)
    if missing or not sizes:
        said = missing or "Neither graph has a pool of its own."
        parts.append(html.P(prose(said), className="absent"))
    parts.append(html.H2("Findings"))
    findings = compared.diff.findings
    if not findings:
        parts.append(html.P("No analysis asks for attention on either side.", className="absent"))
    else:
        parts.append(_findings(compared))
    if compared.diff.notes:
        parts += [html.H2("Notes"), html.Ul([html.Li(note) for note in compared.diff.notes])]
    return html.Div(parts, className="compare-text")


def _no_memory(compared: Compared) -> str:
    lacking = [
        f"The graph {words} has no evidence of memory: {reason.rstrip('.')}."
        for words, subject in (("before", compared.before), ("after", compared.after))
        if (reason := subject.lacks(EvidenceKind.MEMORY))
    ]
    return " ".join(lacking)


def _findings(compared: Compared) -> Component:
    rows = []
    for item in compared.diff.findings:
        one, other = bool(item.severity_before), bool(item.severity_after)
        state = "on both" if one and other else "new" if other else "gone"
        if one != other and within_noise(compared.diff, item.analysis):
            state = f"{state}, within the noise"
        cells = [
            html.Td(text) if text else html.Td("nothing found", className="absent")
            for text in (
                _finding(compared, item.analysis, item.before, True),
                _finding(compared, item.analysis, item.after, False),
            )
        ]
        rows.append(html.Tr([html.Th(item.title), html.Td(state, className=f"state-{state[:3]}"),
                             *cells]))  # fmt: skip
    head = html.Tr([html.Th("finding"), html.Th(""), html.Th("before"), html.Th("after")])
    return html.Table([html.Thead(head), html.Tbody(rows)], className="compare-findings")


def _finding(compared: Compared, analysis: str, text: str, before: bool) -> str:
    return result_text.summary(compared.finding(analysis, before)) if text else ""


def update_view(context: Context, compared: Compared) -> Component:
    """Return the predicted verdict on an update, with every rule that stands against it."""
    verdict = compared.verdict
    parts: list[Any] = [
        html.H2("Could cuGraphExecUpdate take the executable from before to after?")
    ]
    facts = verdict_facts(verdict)
    parts.append(
        html.Dl(
            [part for name, value in facts for part in (html.Dt(name), html.Dd(value))],
            className="update-facts",
        )
    )
    if verdict.violations:
        parts.append(_violations(context, compared, verdict.violations))
    if verdict.settings:
        parts.append(_settings(verdict))
    if verdict.swaps:
        parts.append(_swaps(context, compared, verdict))
    if verdict.unchecked:
        parts.append(html.H2("What decides as well and no recording tells"))
        parts.append(html.Ul([html.Li(f"{words[:1].upper()}{words[1:]}.")
                              for words in verdict.unchecked]))  # fmt: skip
    return html.Div(parts, className="compare-text")


def _violations(context: Context, compared: Compared, items: Sequence[Violation]) -> Component:
    rows = []
    for item in items[:MOST_ROWS]:
        rule = RULES.get(item.rule)
        words = rule.words if rule is not None else item.rule.replace("_", " ")
        basis = "documented" if item.documented else "concluded from a neighbouring call"
        rows.append(
            html.Tr(
                [
                    html.Td(node_link(context, compared, item.before, item.after)),
                    html.Td(item.words),
                    html.Td(f"{words[:1].upper()}{words[1:]}", title=basis),
                    html.Td(rule.result if rule is not None else "", className="mono"),
                ]
            )
        )
    head = html.Tr([html.Th("node"), html.Th("found"), html.Th("rule"), html.Th("answer")])
    table = html.Table([html.Thead(head), html.Tbody(rows)], className="compare-findings")
    title = html.H2(["Rules against it", html.Span(count_text(len(items)), className="count")])
    more = len(items) - MOST_ROWS
    note = [html.P(f"and {counted(more, 'more')}", className="absent")] if more > 0 else []
    return html.Section([title, table, *note])


def _settings(verdict: UpdateVerdict) -> Component:
    rows = [html.Tr([html.Td(html.Code(call)), html.Td(nodes, className="mono"), html.Td(fields)])
            for call, nodes, fields in setting_rows(verdict.settings, MOST_ROWS)]  # fmt: skip
    head = html.Tr([html.Th("call"), html.Th("nodes"), html.Th("fields")])
    table = html.Table([html.Thead(head), html.Tbody(rows)], className="compare-findings")
    said: list[Any] = [html.Li(f"{text[:1].upper()}{text[1:]}.") for text in verdict.obstacles]
    title = "What would have to be set, node by node"
    why = [html.P("That alone is not enough:"), html.Ul(said)] if said else []
    return html.Section([html.H2(title), table, *why])


def _swaps(context: Context, compared: Compared, verdict: UpdateVerdict) -> Component:
    rows = [
        html.Tr(
            [
                html.Td(node_link(context, compared, item.before, item.after)),
                html.Td(html.Code(item.name_before[:200])),
                html.Td(html.Code(item.name_after[:200])),
            ]
        )
        for item in verdict.swaps[:MOST_ROWS]
    ]
    head = html.Tr([html.Th("node"), html.Th("kernel before"), html.Th("kernel after")])
    table = html.Table([html.Thead(head), html.Tbody(rows)], className="compare-findings")
    count = html.Span(count_text(len(verdict.swaps)), className="count")
    title = html.H2(["Other kernels, which the driver does not compare", count])
    return html.Section([title, table])


def node_link(
    context: Context, compared: Compared, before: str | None, after: str | None
) -> Component:
    """Return a link to a node in the picture, named by its paths; the graph where it is none."""
    label = both_paths(before, after)
    if not label:
        return html.Span("the graph", className="absent")
    try:
        if before is not None:
            place = compared.place_before(before)
        else:
            place = compared.place_after(after or "")
    except (ValueError, IndexError, KeyError):
        return html.Span(label)  # a body rather than a node
    changes = {"view": "", "body": place.body, "node": place.node}
    return go_link(context, label, changes, className="mono")
