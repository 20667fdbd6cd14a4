"""The data model: recordings, graphs, executables and the evidence beside them.

A :class:`Graph` is topology and what each node holds; everything that was observed about it
(when, where, by whom, what it cost) is in its :class:`GraphInfo` and hangs beside it. A node is
named by its path of positions, ``"3/0/12"``: node 12 of body 0 of node 3.

Nothing here knows how anything is stored, drawn or read from a driver.
"""

from __future__ import annotations

from .facts import (
    Event,
    EventKind,
    Evidence,
    EvidenceKind,
    Executable,
    Failure,
    Gpu,
    GraphInfo,
    LeftOut,
    Metadata,
    Place,
    Process,
)
from .graph import Body, Edge, Extra, Graph, Kernel, Node, Topology
from .recording import Recording

__all__ = [
    "Body",
    "Edge",
    "Event",
    "EventKind",
    "Evidence",
    "EvidenceKind",
    "Executable",
    "Extra",
    "Failure",
    "Gpu",
    "Graph",
    "GraphInfo",
    "Kernel",
    "LeftOut",
    "Metadata",
    "Node",
    "Place",
    "Process",
    "Recording",
    "Topology",
]
