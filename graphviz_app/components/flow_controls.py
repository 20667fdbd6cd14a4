"""Data flow on the page of a graph: its button, and a node's part of it in the panel."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from capture.analysis.absent import NO_MEMORY
from capture.analysis.subject import Subject
from capture.memory.accesses import Access, direction_text
from capture.memory.directions import HOW
from capture.memory.flow import Flow
from capture.model import EvidenceKind, GraphInfo

from .. import format as text
from ..context import Context
from ..flow_route import flows_url
from .attributes import attributes
from .facts import Children
from .links import go_link

MOST = 20
"""Links of a node in each direction."""
HINT = (
    "Curves from the node that wrote bytes to the node that reads them: exact between copies and "
    "memsets, inferred from kernels' signatures and names elsewhere, dashed where it is only "
    "possible"
)
LEGEND = (
    ("known", "reads what it wrote", "Exact, measured or inferred; the panel of a node says which"),
    ("possible", "may read it", "The one may write there, and the other may read"),
    ("no-data", "dependency without data", "The two share no bytes, as far as is known"),
    ("unordered", "same bytes, unordered", "One of the two writes, and no dependency orders them"),
)
KNOWN = {
    "exact": "both are copies or memsets",
    "measured": "seen to change when a clone ran node by node",
    "inferred": "from signatures, names of parameters and conventions of torch",
    "possible": "the one may read and the other may write there",
}


def flow_button(context: Context, info: GraphInfo) -> Component:
    """Return the button that shows data flow; one that says why not where memory is not known."""
    state = context.state
    evidence = info.evidence.get(EvidenceKind.MEMORY)
    present = evidence is not None and evidence.present
    reason = (evidence.reason if evidence is not None else "") or NO_MEMORY
    src = flows_url(state.recording, state.graph, state.body, context.prefix)
    button = html.Button(
        "Data flow",
        className="text-button flows-button",
        title=HINT if present else f"No data flow: {reason}".replace("`", ""),
        disabled=not present,
        **attributes(data_flows=src, aria_pressed=str(present and state.view == "data").lower()),
    )
    entries = [
        html.Span([html.I(className=f"flow-line {kind}"), words], title=hint)
        for kind, words, hint in LEGEND
    ]
    return html.Span([button, html.Div(entries, className="flows-legend")], className="flows")


def flow_section(context: Context, subject: Subject, position: int) -> Children:
    """Return who wrote what a node reads, and who reads what it wrote, as links."""
    into, out = subject.flows_at(position)
    if not into and not out:
        return []
    touched = {access.start: access for access in subject.accesses_at(position)}
    parts: Children = []
    for title, hint, flows, end in (
        ("Reads what was written by", "The last node before it that wrote there", into, "writer"),
        ("Read after it by", "Nodes that read what it wrote", out, "reader"),
    ):
        if not flows:
            continue
        ordered = sorted(flows, key=lambda flow: (flow.how == "possible", flow.address))
        links = [
            _link(context, subject, flow, getattr(flow, end), touched) for flow in ordered[:MOST]
        ]
        if len(flows) > MOST:
            more = f"{text.count_text(len(flows) - MOST)} more, marked in the picture."
            links.append(html.Li(more, className="absent"))
        count = html.Span(text.count_text(len(flows)), className="count")
        parts.append(
            html.Section([html.H3([title, count], title=hint), html.Ul(links, className="links")])
        )
    return parts


def _link(
    context: Context, subject: Subject, flow: Flow, other: int, touched: dict[int, Access]
) -> Component:
    access = touched.get(flow.address)
    hover = [text.address_text(flow.address), f"{flow.how}: {KNOWN[flow.how]}"]
    if access is not None:
        hover.append(f"this node {direction_text(access)}, {HOW[access.how]}")
    label = [
        html.Span(subject.label(other), className="name"),
        html.Span(str(other), className="note"),
        html.Span(flow.how, className="edge-note"),
    ]
    return html.Li(
        go_link(context, label, {"node": other}, className="neighbour", title=" · ".join(hover))
    )
