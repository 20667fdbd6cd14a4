"""The view and its address: a link reopens what was on the screen.

The path is the page, everything else is the query: ``/graph?recording=ab12cd&graph=train.py:step``
``&body=3/0&node=12&colour=kernel&search=gemm``. The theme is not part of a view.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode


class Colouring(StrEnum):
    """What a node's colour says."""

    TYPE = "type"
    KERNEL = "kernel"
    LANE = "lane"
    TIME = "time"
    PATH = "path"
    MODULE = "module"
    OPERATOR = "operator"
    PHASE = "phase"
    SOURCE = "source"


@dataclass(frozen=True)
class ViewState:
    """What the screen shows.

    Attributes
    ----------
    page : str
        Name of a page; ``""`` is the first one.
    recording : str
        Id in the store; ``""`` is the first one.
    graph : str
        Key of a graph.
    body : str
        Path of a body inside the graph; ``""`` is the graph itself.
    node : int or None
        Position of the selected node within that body.
    colour : Colouring
    search : str
    view : str
        Which part of a page, such as the name of an analysis; each page has its own.
    executable : str
        Id of the executable whose timings are shown; ``""`` is the one traced most often.
    after : str
        Of a comparison: id of the recording after; ``""`` without one.
    graph_after : str
        Key of the graph after.
    """

    page: str = ""
    recording: str = ""
    graph: str = ""
    body: str = ""
    node: int | None = None
    colour: Colouring = Colouring.TYPE
    search: str = ""
    view: str = ""
    executable: str = ""
    after: str = ""
    graph_after: str = ""

    @property
    def node_path(self) -> str:
        """Path of the selected node, such as ``"3/0/12"``; empty without one."""
        if self.node is None:
            return ""
        return f"{self.body}/{self.node}" if self.body else str(self.node)

    def but(self, **changes: Any) -> ViewState:
        """Return this view with some fields changed."""
        return replace(self, **changes)

    def at_graph(self, key: str) -> ViewState:
        """Return the view of another graph of the same recording."""
        return replace(
            self, page="graph", graph=key, body="", node=None, search="", view="", executable="",
            after="", graph_after="",
        )  # fmt: skip


def to_url(state: ViewState, prefix: str = "/") -> str:
    """Return the address of a view, as path and query; defaults are left out.

    Examples
    --------
    >>> to_url(ViewState("graph", "ab12", "step.py:f", "3/0", 12))
    '/graph?recording=ab12&graph=step.py:f&body=3/0&node=12'
    """
    fields: list[tuple[str, str]] = [
        ("recording", state.recording),
        ("graph", state.graph),
        ("body", state.body),
        ("node", "" if state.node is None else str(state.node)),
        ("colour", "" if state.colour is Colouring.TYPE else state.colour.value),
        ("search", state.search),
        ("view", state.view),
        ("executable", state.executable),
        ("after", state.after),
        ("graph_after", state.graph_after),
    ]
    query = urlencode([(k, v) for k, v in fields if v], quote_via=quote, safe="/:,")
    return f"{prefix}{quote(state.page)}" + (f"?{query}" if query else "")


def from_url(pathname: str | None, search: str | None, prefix: str = "/") -> ViewState:
    """Return the view an address names; what it cannot mean is left at its default.

    Parameters
    ----------
    pathname, search : str or None
        As the browser gives them; `search` with or without its ``?``.
    prefix : str
        Path under which the dashboard is served, with a slash at both ends.
    """
    path = pathname or "/"
    if path.startswith(prefix):
        path = path[len(prefix) :]
    values = parse_qs((search or "").removeprefix("?"))

    def first(name: str) -> str:
        return values.get(name, [""])[0]

    node = first("node")
    colour = first("colour")
    return ViewState(
        page=unquote(path).strip("/"),
        recording=first("recording"),
        graph=first("graph"),
        body=first("body").strip("/"),
        # isdecimal alone admits digits of other scripts and numbers too long to be a position.
        node=int(node) if node.isascii() and node.isdecimal() and len(node) <= 9 else None,
        colour=Colouring(colour) if colour in set(Colouring) else Colouring.TYPE,
        search=first("search"),
        view=first("view"),
        executable=first("executable"),
        after=first("after"),
        graph_after=first("graph_after"),
    )


def stored(place: Any, context: Any = None) -> ViewState:
    """Return the view that the browser keeps in its stores.

    Parameters
    ----------
    place : mapping or None
        The parts of a view that a page, its panel or its matches are built from.
    context : mapping or None
        What the server filled in: recording and graph, where the address names none.
    """
    data, filled = place or {}, context or {}
    node = data.get("node")
    return ViewState(
        page=str(data.get("page") or ""),
        recording=str(filled.get("recording") or data.get("recording") or ""),
        graph=str(data.get("graph") or filled.get("key") or ""),
        body=str(data.get("body") or ""),
        node=node if isinstance(node, int) and not isinstance(node, bool) else None,
        view=str(data.get("view") or ""),
        executable=str(data.get("executable") or ""),
        after=str(data.get("after") or ""),
        graph_after=str(data.get("graph_after") or ""),
    )
