"""What a page, its details panel and its menus are built from."""

from __future__ import annotations

from dataclasses import dataclass

from capture.model import Recording

from .state import ViewState, to_url
from .store import Store


@dataclass(frozen=True)
class Context:
    """A view of some recordings.

    Attributes
    ----------
    store : Store
    state : ViewState
        With recording and, where the page is about a graph, graph filled in.
    prefix : str
        Path under which the dashboard is served.
    """

    store: Store
    state: ViewState
    prefix: str = "/"

    def url(self, state: ViewState) -> str:
        """Return the address of another view."""
        return to_url(state, self.prefix)


def first_graph(recording: Recording) -> str:
    """Return the key of the first graph with nodes: torch.compile captures an empty one first."""
    infos = recording.graphs.values()
    return next((info.key for info in infos if info.node_count), next(iter(recording.graphs), ""))
