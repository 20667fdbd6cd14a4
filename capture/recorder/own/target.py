"""A graph that parts are run of, in place of its replays."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from ...model import Graph
from ...topology import digest
from ..open_capture import OpenCapture
from .node_steps import NodeSteps


class Target:
    """A graph that parts are run of.

    Attributes
    ----------
    graph : Graph
    key : str
    clone : int
        Handle; 0 when there is none, for the reason in `refused`.
    steps : NodeSteps or None
    executables : dict of int to int
        Made when the capture had ended, while all memory was there; by position, or by length of
        a prefix.
    inside : dict of int to list of (str, int)
        The same for the nodes of child graphs, with their paths, in the order in which they run.
    """

    def __init__(self, capture: OpenCapture, graph: Graph) -> None:
        self.key = capture.key
        self.graph = graph
        self.clone = 0
        self.nodes: list[int] = []
        self.steps: NodeSteps | None = None
        self.executables: dict[int, int] = {}
        self.inside: dict[int, list[tuple[str, int]]] = {}
        self.refused = ""
        self.call: Callable[[], Any] | None = None
        """The function that it was captured from by us."""
        self.log: Any = None
        """What operators did while it was captured, where that was asked for."""


def fingerprint(target: Target) -> str:
    """Return a text that is equal where nodes, their kernels and their order are."""
    whole = hashlib.sha256(digest(target.graph).encode())
    for payload in target.graph.payloads:
        kernel = getattr(payload, "kernel", None)
        whole.update(f"{getattr(kernel, 'name', '')}\n".encode())
    return whole.hexdigest()[:16]
