"""Graphs as documents of plain values, and back: the form in journals and in ``.cgl`` files.

A graph is one document; what many graphs share is kept in tables beside it:

- *topologies*, by digest: types and edges of one level;
- *kernels*, by position in a list.

Levels (the graph and its bodies) are a flat list, parents first, so depth needs no recursion.
Payloads are columns per node type. Fields nobody knows survive in ``extra`` on every level.
"""

from __future__ import annotations

from .evidence import decode_evidence, encode_evidence
from .graphs import decode_graph, encode_graph
from .structs import Document, collection_paused, dump, load
from .tables import Tables, dump_topology, load_topology

__all__ = [
    "Document",
    "Tables",
    "collection_paused",
    "decode_evidence",
    "decode_graph",
    "dump",
    "dump_topology",
    "encode_evidence",
    "encode_graph",
    "load",
    "load_topology",
]
