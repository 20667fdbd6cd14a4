"""Where a node comes from, in the details panel: lines, module, operator, stack."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from dash import html
from dash.development.base_component import Component

from capture.origin_index import OriginIndex
from capture.origins import Frame

from .. import origin_facts
from ..context import Context
from ..format import counted
from ..origin_facts import NodeOrigin
from ..origin_text import (
    base_name,
    class_text,
    inputs_text,
    is_contiguous,
    module_text,
    module_view,
    tensor_text,
)
from .facts import Children
from .links import editor_link, go_link
from .prose import prose

MOST_LINES = 12
MOST_FRAMES = 200
HOW = "Recorded while the graph was captured: {how}"


def origin(context: Context, position: int) -> Children:
    """Return where a node comes from, or why that is not known."""
    state = context.state
    index = context.store.origins(state.recording, state.graph, state.body, state.executable)
    if index is None:
        text = context.store.origins_reason(
            state.recording, state.graph, state.body, state.executable
        )
        return [html.Section([html.H3("Origin"), html.P(prose(text), className="absent")])]
    found = origin_facts.node_origin(index, position)
    how = HOW.format(how="; ".join(index.origins.how)) if index.origins.how else None
    rows: Children = []
    _lines(context, found, rows)
    _modules(context, index, found, rows)
    _operators(context, found, rows)
    for label, value in (
        ("phase", found.phase),
        ("autograd", found.autograd),
        ("label", found.label),
        ("stream", found.stream),
        ("thread", found.thread),
    ):
        if value:
            _row(rows, label, html.Span(value))
    parts: Children = [html.H3("Origin", title=how)]
    if rows:
        parts.append(html.Dl(rows, className="origin"))
    if not found.lines:
        parts.append(html.P(_no_line(found), className="absent"))
    parts += _tensors(found)
    parts += stack_details(context, "Stack", found.stack)
    parts += stack_details(context, "Forward stack", found.forward)
    return [html.Section(parts)]


def _no_line(found: NodeOrigin) -> str:
    why = found.missing.get("stack", "")
    if found.stack or found.forward:
        return "No line of the user's is in its stack."
    return f"No stack: {why.rstrip('.')}." if why else "No stack was recorded for this node."


def _row(rows: Children, label: str, *value: Any, hint: str | None = None) -> None:
    rows.append(html.Dt(label))
    rows.append(html.Dd(list(value), title=hint))


def _lines(context: Context, found: NodeOrigin, rows: Children) -> None:
    label = "forward line" if found.as_backward else "line"
    shown = found.lines[:MOST_LINES]
    for at, line in enumerate(shown):
        name = (label + "s" if len(found.lines) > 1 else label) if at == 0 else ""
        _row(
            rows,
            name,
            source_link(context, line.file, line.line),
            html.Span(line.function, className="note") if line.function else None,
            editor_link(context, line.file, line.line),
        )
    if len(found.lines) > len(shown):
        _row(rows, "", counted(len(found.lines) - len(shown), "more line"))


def source_link(context: Context, file: str, line: int, label: str = "") -> Component:
    """Return a link to a line on the source page, with the file's name unless it has a label."""
    changes = {"page": "source", "view": f"{file}:{line}", "search": ""}
    return go_link(context, label or f"{base_name(file)}:{line}", changes, title=f"{file}:{line}")


def _modules(context: Context, index: OriginIndex, found: NodeOrigin, rows: Children) -> None:
    for at, number in enumerate(found.modules):
        module = index.modules[number]
        label = ("modules" if len(found.modules) > 1 else "module") if at == 0 else ""
        changes = {"page": "modules", "view": module_view(index, number), "search": ""}
        kind = class_text(module.class_name) if module.path else ""
        _row(
            rows,
            label,
            go_link(context, module_text(module), changes, title="Show it among the modules"),
            html.Span(kind, className="note") if kind else None,
        )


def _operators(context: Context, found: NodeOrigin, rows: Children) -> None:
    names, label = [], "operator"
    if found.operator is not None:
        names = [found.operator.name]
    elif found.compiled is not None:
        names, label = list(found.compiled.operators), "fused operators"
    for at, name in enumerate(names):
        changes = {"page": "operators", "view": name, "search": ""}
        link = go_link(context, name, changes, title="Show it among the operators")
        _row(rows, label if at == 0 else "", link)
    if found.compiled is not None:
        if found.compiled.kernel not in names:
            _row(rows, "compiled kernel", html.Span(found.compiled.kernel, className="mono"))
        if found.operator is not None and found.compiled.operators:
            _row(rows, "compiled from", ", ".join(found.compiled.operators))


def _tensors(found: NodeOrigin) -> Children:
    operator = found.operator
    if operator is None or not (operator.inputs or operator.scalars):
        return []
    items = [
        html.Li(
            tensor_text(tensor),
            className="mono",
            title=f"strides {', '.join(map(str, tensor.stride))}" if tensor.stride else None,
        )
        if is_contiguous(tensor)
        else html.Li(
            [
                html.Span(tensor_text(tensor), className="mono"),
                html.Span(f"strides {', '.join(map(str, tensor.stride))}", className="note"),
            ]
        )
        for tensor in operator.inputs
    ]
    items += [html.Li(scalar, className="mono") for scalar in operator.scalars]
    return [
        html.Details(
            [html.Summary("Inputs", title=inputs_text(operator)), html.Ul(items)],
            open=len(items) <= 6,
            className="fold",
        )
    ]


def stack_details(
    context: Context, title: str, stack: list[Frame], files: Collection[str] | None = None
) -> Children:
    """Return a stack that folds away, innermost first; nothing for an empty one.

    Parameters
    ----------
    context : Context
    title : str
    stack : list of Frame
    files : collection of str, optional
        Files that the page of source has; by default all but those of libraries.
    """
    if not stack:
        return []
    items: list[Component] = []
    for part in origin_facts.folded(stack[:MOST_FRAMES]):
        lines = [
            html.Li(_frame(context, frame, files), title=_place(frame)) for frame in part.frames
        ]
        if part.is_library:
            first = part.frames[0]
            count = f"{counted(len(part.frames), 'library frame')}, innermost {first.function}"
            items.append(html.Li(html.Details([html.Summary(count), html.Ul(lines)])))
        else:
            items += lines
    if len(stack) > MOST_FRAMES:
        items.append(html.Li(counted(len(stack) - MOST_FRAMES, "more frame"), className="absent"))
    count = counted(len(stack), "frame")
    note = html.Span(f"{count}, innermost first", className="note")
    return [
        html.Details(
            [html.Summary([title, note]), html.Ul(items, className="stack")],
            className="fold",
        )
    ]


def _place(frame: Frame) -> str:
    return f"{frame.file}:{frame.line}"


def _frame(context: Context, frame: Frame, files: Collection[str] | None) -> list[Any]:
    where: Component = html.Span(f"{base_name(frame.file)}:{frame.line}", className="mono")
    if frame.kind != "library" if files is None else frame.file in files:
        where = source_link(context, frame.file, frame.line)
    return [
        html.Span(frame.function or "?", className="function"),
        where,
        editor_link(context, frame.file, frame.line),
    ]
