"""A finding in full, in the details panel: what it says, why it matters, stacks, and its node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html

from capture.analysis.found import Finding
from capture.errors import GraphLensError
from capture.memory.pointers import Memories
from capture.memory_map import StackFrame

from .. import format as text
from .. import result_text
from ..context import Context
from ..facts import Fact, Section
from ..finding_stacks import ADDRESS, FindingStacks
from ..findings import Findings
from . import details
from .facts import Children
from .findings_table import find, sentences
from .links import editor_link, go_link
from .origin_panel import source_link
from .prose import prose

MOST_FRAMES = 30


def panel(context: Context) -> Children:
    """Return the panel of the page of findings: the chosen finding and its node, or a summary.

    Raises
    ------
    LookupFailed
        What the view names is not there.
    """
    state, store = context.state, context.store
    found = store.findings(state.recording).findings
    item = find(found, state.view) if state.view else None
    if item is None:
        return _summary(context, found)
    parts = in_full(context, found, item)
    if item.graph and state.graph == item.graph:
        parts += details.panel(context)
    return parts


def _summary(context: Context, found: Findings) -> Children:
    title = context.store.get(context.state.recording).title
    parts: Children = [details.heading("Findings", title)]
    rows = [
        Fact(kind.title, f"{text.count_text(kind.count)} ({kind.severity})")
        for kind in found.ranked()
    ]
    if rows:
        parts += details.sections([Section("By kind", rows)])
    for title, told in (("Not looked for", found.absent), ("To be read with", found.limits)):
        items = sentences(told)
        if items:
            parts.append(html.Section([html.H3(title), html.Ul(items, className="notes")]))
    faster = go_link(context, "Analyses", {"page": "analyses", "view": "", "search": ""})
    words = html.P(["What could be faster is on the page ", faster, "."], className="absent")
    parts.append(html.Section(words))
    return parts


def in_full(context: Context, found: Findings, item: Finding) -> Children:
    """Return what one finding says: facts, why and what to do, stacks, ways on."""
    result = found.result(item)
    sure = f" · {item.confidence}" if item.confidence else ""
    kind = f"{result_text.SHAPES[item.severity]} {item.severity}{sure}"
    parts: Children = [details.heading(kind, found.kinds[item.analysis].title)]
    shown = [
        Fact(name, result_text.short_place(value), mono=bool(ADDRESS.fullmatch(value)))
        for name, value in found.cells(item).items()
        if name not in ("confidence",)
    ]
    summary = Section("What was found", shown or [Fact("", found.words(item))])
    parts += details.sections([summary])
    if result.notes:
        notes = [html.Li(prose(result_text.written(result, note))) for note in result.notes]
        parts.append(
            html.Section([html.H3("Why, and what to do"), html.Ul(notes, className="notes")])
        )
    parts += _stacks(context, found, item)
    parts.append(_ways(context, found, item))
    return parts


def _stacks(context: Context, found: Findings, item: Finding) -> Children:
    """Return the stacks that allocated, freed and took over what the finding's addresses lie in."""
    if not item.graph:
        return []
    try:
        with context.store.reading:
            recording = context.store.get(context.state.recording).recording
            stacks = FindingStacks(recording).of(item.graph, found.cells(item).values())
            origins = recording.origins(item.graph)
    except GraphLensError:
        return []
    files = {frame.file for frame in origins.frames if frame.kind == "user"} if origins else set()
    parts: Children = []
    for stack in stacks:
        what = f"{stack.what[:1].upper()}{stack.what[1:]} at, {stack.address}"
        frames = _frames(context, files, stack.frames)
        title = html.H3(what, title="From torch's memory history")
        parts.append(html.Section([title, html.Ol(frames, className="finding-stack mono")]))
    return parts


def _frames(context: Context, files: set[str], frames: Sequence[StackFrame]) -> list[Any]:
    """Return the frames of a stack, those in files with nodes as links to the page of source."""
    rows = []
    for frame in frames[:MOST_FRAMES]:
        where = f"{frame.file}:{frame.line}"
        short = result_text.short_place(where)
        linked = frame.file in files
        place = source_link(context, frame.file, frame.line, short) if linked else short
        rest = f" {frame.function} "
        editor = editor_link(context, frame.file, frame.line) if linked else None
        rows.append(html.Li([place, rest, editor] if linked else f"{place}{rest}", title=where))
    return rows


def _ways(context: Context, found: Findings, item: Finding) -> Any:
    """Return links to the node, to all nodes of this finding, and to the page of memory."""
    links: list[Any] = []
    plain = {"search": "", "view": ""}
    if item.node:
        links.append(go_link(context, f"Node {item.node} in the graph", {"page": "graph", **plain}))
    if found.result(item).node_marks and item.graph:
        marks = {"page": "graph", "view": "", "node": None, "body": ""}
        search = {"search": f"marks:{item.analysis}"}
        links.append(go_link(context, "All nodes of this finding", {**marks, **search}))
    if item.graph in found.recording.stored("memory"):
        links.append(go_link(context, "Memory of the graph", {"page": "memory", **plain}))
        for value in dict.fromkeys(found.cells(item).values()):
            if ADDRESS.fullmatch(value):
                start = _block_at(context, item.graph, int(value, 16))
                change = {"page": "graph", "body": "", "view": "", "search": f"block:{start:#x}"}
                links.append(go_link(context, f"Nodes of the memory at {value}", change))
    return html.Section(
        [html.H3("Look at"), html.Ul([html.Li(link) for link in links], className="links")]
        if links
        else []
    )


def _block_at(context: Context, graph: str, address: int) -> int:
    with context.store.reading:
        memory = context.store.get(context.state.recording).recording.memory(graph)
    place = Memories(memory).find(address) if memory is not None else None
    return place.start if place is not None and place.start else address
