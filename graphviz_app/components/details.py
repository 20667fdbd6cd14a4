"""The details panel, which every page shares: a node, else the graph, else the recording."""

from __future__ import annotations

import json

from dash import html
from dash.development.base_component import Component

from capture.analysis.block_roles import block_roles
from capture.errors import FormatError
from capture.model import GraphInfo, Node, Recording

from .. import format as text
from .. import memory_rows, naming, node_costs, origin_facts, profiling, timing_facts
from ..context import Context
from ..facts import Section
from ..graph_facts import graph_sections, recording_sections
from ..node_facts import node_sections
from ..state import ViewState
from .attributes import attributes
from .facts import Children, copy_button, section_view
from .flow_controls import flow_section
from .links import go_link
from .neighbours import bodies, neighbours
from .node_findings import of_node as node_findings
from .origin_panel import origin

NAME_CHARACTERS = 8_000
BLOCK_HINT = "Show the block on the page of memory"


def panel(context: Context) -> Children:
    """Return the panel for what is selected.

    Raises
    ------
    LookupFailed
        What the view names is not there.
    """
    state, store = context.state, context.store
    recording = store.get(state.recording).recording
    if not state.graph:
        return [
            heading("Recording", store.get(state.recording).title),
            *sections(recording_sections(recording)),
        ]
    info = store.info(state.recording, state.graph)
    if state.node is None:
        return [
            heading("Graph", info.name),
            comparing(context, info),
            *sections([*_graph(context, info, recording), *_coverage(context, info, recording)]),
        ]
    picture = store.picture(state.recording, state.graph, state.body)
    node = picture.graph.node(state.node)
    return [
        *node_heading(node, state),
        *node_findings(context, node.position),
        *origin(context, node.position),
        *timing(context, node, recording),
        *bodies(context, picture.graph, node.position),
        *sections(node_sections(node, info, recording)),
        *neighbours(context, picture, node.position),
    ]


def comparing(context: Context, info: GraphInfo) -> Component:
    """Return the link to what a graph can be compared with."""
    changes = {
        "page": "compare",
        "after": context.state.recording,
        "graph": info.key,
        "graph_after": "",
        "body": "",
        "node": None,
        "search": "",
        "view": "",
    }
    return html.Section(go_link(context, "Compare with\N{HORIZONTAL ELLIPSIS}", changes))


def _graph(context: Context, info: GraphInfo, recording: Recording) -> list[Section]:
    """Return a graph's sections; it is opened only when it has timings to show."""
    found = graph_sections(info, recording)
    timed = set(recording.timed)
    if not any(item.id in timed for item in recording.executables_of(info.key)):
        why = Section("Timing", absent=timing_facts.absent_reason(info))
        return [*found[:1], why, *found[1:]] if not info.failure else found
    try:
        subject = context.store.subject(
            context.state.recording, info.key, "", context.state.executable
        )
        times = timing_facts.graph_sections(subject)
    except FormatError as error:
        times = [damaged(error)]
    return [*found[:1], *times, *found[1:]]


def _coverage(context: Context, info: GraphInfo, recording: Recording) -> list[Section]:
    """Return of how many nodes it is known where they come from."""
    if info.key not in recording.with_origins:
        return []  # among the kinds of evidence stands why
    state = context.state
    index = context.store.origins(state.recording, info.key, "", state.executable)
    return [] if index is None else [origin_facts.coverage(index)]


def damaged(error: FormatError) -> Section:
    """Return the section for timings that cannot be read; the rest of the recording can."""
    return Section("Timing", absent=f"The timings cannot be read: {error}.")


def timing(context: Context, node: Node, recording: Recording) -> Children:
    """Return when a node ran, and how to look closer."""
    state, store = context.state, context.store
    if state.graph not in recording.graphs:
        return []
    try:
        place = (state.recording, state.graph, state.body)
        subject = store.subject(*place, state.executable)
        critical = store.result(*place, "critical_path", state.executable)
        times = timing_facts.node_section(subject, node.position, critical)
        costs = subject.benchmark.nodes if subject.benchmark is not None else None
        own = node_costs.node_section(costs, subject.node_path(node.position))
    except FormatError as error:
        times, own = damaged(error), None
    found = sections([times, *([own] if own is not None else [])])
    found += pointing(context, node.position)
    if not state.body:
        found.append(what_if(context, node.position))
    kernel = naming.kernel_of(node)
    command = profiling.ncu_command(recording, kernel.name) if kernel is not None else ""
    if command and len(command) <= NAME_CHARACTERS:
        found.append(
            html.Section(
                [
                    html.H3(["Profile", copy_button(command)], title=profiling.NOTE),
                    html.Code(command, className="command"),
                ]
            )
        )
    return found


def pointing(context: Context, position: int) -> Children:
    """Return what memory a node points at, with links to the blocks' other nodes."""
    state = context.state
    try:
        subject = context.store.subject(state.recording, state.graph, state.body, state.executable)
    except FormatError:
        return []  # the section of timings says what is damaged
    roles = context.store.remember(
        ("block roles", state.recording, state.graph, state.body, state.executable),
        lambda: block_roles(subject),
        lambda found: 200 * len(found),
    )
    section = memory_rows.node_section(subject, position, roles)
    if section is None:
        return []
    found = sections([section])
    links: Children = []
    for start, name, count in memory_rows.blocks_of(subject, position):
        changes = {"page": "graph", "search": f"block:{text.address_text(start)}"}
        label = [html.Span(name, className="name"), html.Span(count, className="note")]
        shown = {"page": "memory", "view": "", "search": changes["search"]}
        links.append(
            html.Li(
                [
                    go_link(context, label, changes, className="neighbour"),
                    go_link(context, "block", shown, className="copy", title=BLOCK_HINT),
                ],
                className="with-block",
            )
        )
    if links:
        head = html.H3("Nodes of the same memory", title="Finds all nodes that point into a block")
        found.append(html.Section([head, html.Ul(links, className="links")]))
    return found + flow_section(context, subject, position)


def what_if(context: Context, position: int) -> Component:
    """Return links to what the replay would gain without a node, or without its branch."""
    links = [
        go_link(
            context,
            words,
            {"page": "whatif", "view": f"{kind}:{position}", "node": position, "search": ""},
            title=hint,
        )
        for kind, words, hint in (
            ("node", "if this node took no time", "What the replay would gain without it"),
            ("branch", "and all that only it leads to", "Nodes that no path reaches without it"),
        )
    ]
    return html.Section([html.H3("What if"), links[0], ", ", links[1]])


def heading(kind: str, name: str) -> Component:
    """Return the title of the panel."""
    return html.Header(
        [html.Div(kind, className="details-kind"), html.H2(name, title=name)],
        className="details-head",
    )


def sections(items: list[Section]) -> Children:
    """Return the sections of a panel."""
    return [section_view(item) for item in items]


def node_heading(node: Node, state: ViewState) -> Children:
    """Return what a node is: type, path, short name; the full and mangled name on demand."""
    colour = naming.type_colour(node.type)
    kernel = naming.kernel_of(node)
    short, full = naming.label(node), naming.full_name(node)
    head: Children = [
        html.Div(
            className="details-kind",
            children=[
                html.I(className="chip", style={"background": colour}),
                html.Span(text.type_text(node.type)),
                html.Span(
                    state.node_path,
                    className="path",
                    title="Path of positions: the node's place in creation order, within its body",
                ),
                html.A(
                    "\N{MULTIPLICATION SIGN}",
                    href="#",
                    className="close",
                    title="Drop the selection  Esc",
                    **attributes(
                        data_go=json.dumps({"node": None}), aria_label="Drop the selection"
                    ),
                ),
            ],
        ),
        html.H2(short, title=full[:NAME_CHARACTERS]),
    ]
    if full != short or kernel is not None:
        head.append(_name(full))
    if kernel is not None and kernel.name != full:
        head.append(
            html.Details(
                [
                    html.Summary("mangled name"),
                    _name(kernel.name),
                ],
                className="mangled",
            )
        )
    return [html.Header(head, className="details-head")]


def _name(name: str) -> Component:
    cut = len(name) - NAME_CHARACTERS
    if cut > 0:
        more = f" and {text.counted(cut, 'character')} more, which an export has"
        return html.Div([html.Code(name[:NAME_CHARACTERS]), more], className="full-name")
    return html.Div([html.Code(name), copy_button(name)], className="full-name")
