"""Pages of the dashboard: one module each, with a ``PAGE``.

To add one, write ``graphviz_app/pages/x.py`` with ``PAGE = Page(...)``: it appears in the router,
in the navigation and in the tests of ids and callbacks. Other distributions add pages through
the entry-point group ``cudagraph_lens.pages``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from capture.registry import discover

from ..context import Context

if TYPE_CHECKING:
    from dash import Dash
    from dash.development.base_component import Component

    from ..state import ViewState
    from ..store import Store

__all__ = ["Context", "Page", "pages"]

ENTRY_POINTS = "cudagraph_lens.pages"
NO_GRAPH = (
    "This recording holds no graph, so there is nothing to show here. "
    "The overview says what was recorded."
)


@dataclass(frozen=True)
class Page:
    """One entry of the page extension point.

    Attributes
    ----------
    name : str
        Also the path.
    title : str
        In the navigation rail.
    order : int
        Place in the rail.
    description : str
        Hover text in the rail.
    search_hint : str
        What the search box does on this page.
    layout : callable
        ``layout(context)`` returns the page for a view.
    skeleton : callable
        ``skeleton()`` returns a layout with every id of the page, for the validation of callbacks.
    register : callable
        ``register(app, store, prefix)`` adds the page's callbacks to one app.
    needs_graph : bool
        Whether the page is about one graph; a view that names none gets the first one.
    no_graph : str or None
        What stands in the place of such a page where the recording has no graph; ``None`` where the
        page has something to show all the same.
    place : tuple of str
        The parts of a view that the page is built from; others change without building it again.
    takes_graph : bool
        Whether the graph on the screen is handed to a page that can do without one. Such a page
        numbers nodes in its own way.
    complete : callable
        ``complete(state, store)`` fills in what an address left out, besides page and recording.
    details : callable
        ``details(context)`` returns what the panel shows; the panel that all pages share if not.
    find : callable
        ``find(context, text)`` returns the nodes that a search finds, as the page numbers them.
    """

    name: str
    title: str
    order: int
    description: str
    layout: Callable[[Context], Component]
    skeleton: Callable[[], Component]
    register: Callable[[Dash, Store, str], None] = lambda app, store, prefix: None
    search_hint: str = "Search"
    needs_graph: bool = False
    no_graph: str | None = NO_GRAPH
    place: tuple[str, ...] = ("page", "recording", "graph", "body")
    takes_graph: bool = False
    complete: Callable[[ViewState, Store], ViewState] | None = None
    details: Callable[[Context], Any] | None = None
    find: Callable[[Context, str], list[int]] | None = None


@lru_cache(maxsize=1)
def pages() -> dict[str, Page]:
    """Return every page by name, in the order of the rail."""
    found: dict[str, Any] = discover(__name__, "PAGE", Page, ENTRY_POINTS)
    return dict(sorted(found.items(), key=lambda item: item[1].order))
