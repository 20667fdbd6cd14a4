"""What graphs share: topologies by digest, kernels by place."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from ..columns import pack, unpack
from ..errors import FormatError, InvalidGraphError
from ..model import Kernel, Topology
from .structs import Document, dump


class Tables:
    """What graphs share, growing as they are encoded.

    Attributes
    ----------
    topologies : dict of str to dict
        Topology documents by digest.
    kernels : list of dict
        Kernel documents in order of first use.
    """

    def __init__(self) -> None:
        self.topologies: dict[str, Document] = {}
        self.kernels: list[Document] = []
        self._by_identity: dict[int, tuple[Kernel, int]] = {}
        self._by_content: dict[bytes, int] = {}

    def kernel(self, kernel: Kernel) -> int:
        """Return the kernel's place in the table, adding it when it is new."""
        known = self._by_identity.get(id(kernel))
        if known is not None and known[0] is kernel:
            return known[1]
        document = dump(kernel)
        content = msgspec.json.encode(document, order="sorted")
        place = self._by_content.setdefault(content, len(self.kernels))
        if place == len(self.kernels):
            self.kernels.append(document)
        self._by_identity[id(kernel)] = (kernel, place)
        return place

    def release(self) -> None:
        """Let go of the kernels that were encoded; equal ones still get the same place."""
        self._by_identity.clear()

    def topology(self, topology: Topology) -> str:
        """Return the topology's digest, adding it when it is new."""
        document = dump_topology(topology)
        key = hashlib.sha256(msgspec.json.encode(document)).hexdigest()[:16]
        self.topologies.setdefault(key, document)
        return key


def dump_topology(topology: Topology) -> Document:
    """Turn one level's types and edges into columns."""
    document: Document = {
        "count": len(topology.types),
        "types": pack(topology.types),
        "edges": len(topology.source),
        "source": topology.source,
        "target": topology.target,
    }
    for name in ("from_port", "to_port", "edge_type"):
        values = getattr(topology, name)
        if any(values):
            document[name] = pack(values)
    return document


def load_topology(document: Any, where: str) -> Topology:
    """Turn columns back into a topology.

    Raises
    ------
    FormatError
        Columns of other lengths or kinds than claimed.
    InvalidGraphError
        An edge to a node that is not there.
    """
    if not isinstance(document, dict):
        raise FormatError(f"{where} is a {type(document).__name__}, expected a topology")
    count, edges = document.get("count"), document.get("edges")
    if type(count) is not int or type(edges) is not int or count < 0 or edges < 0:
        raise FormatError(f"{where} has no number of nodes and edges")
    types = unpack(document.get("types"), count, f"{where}.types")
    if not all(isinstance(name, str) for name in types):
        raise FormatError(f"{where}.types has a value that is no text")
    columns: dict[str, list[int]] = {}
    for name in ("source", "target", "from_port", "to_port", "edge_type"):
        if name in document:
            columns[name] = _integers(unpack(document[name], edges, f"{where}.{name}"), where, name)
        else:
            columns[name] = []
    for name in ("source", "target"):
        values = columns[name]
        if len(values) != edges:
            raise FormatError(f"{where} has no column {name!r}")
        if values and not (min(values) >= 0 and max(values) < count):
            bad = next(value for value in values if not 0 <= value < count)
            raise InvalidGraphError(
                f"{where} has an edge with {name} {bad}, but its nodes are 0 to {count - 1}"
            )
    return Topology(types=types, **columns)


def _integers(values: list[Any], where: str, name: str) -> list[int]:
    if not {type(value) for value in values} <= {int}:
        raise FormatError(f"{where}.{name} has a value that is no integer")
    return values
