"""What a node type is, and the shapes that several of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from .reader import Reader

Dim3 = tuple[int, int, int]


class Category(StrEnum):
    """What a node's work is, for colours and totals."""

    COMPUTE = "compute"
    TRANSFER = "transfer"
    MEMORY = "memory"
    SYNCHRONISATION = "synchronisation"
    HOST = "host"
    GRAPH = "graph"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class NodeType:
    """One entry of the node-type extension point.

    Attributes
    ----------
    name : str
        CUDA's name without its prefix, in lower case: ``"mem_alloc"``.
    number : int
        Value in ``CUgraphNodeType``; negative for names that no driver gave.
    category : Category
    payload : type of msgspec.Struct, or None
        Fields of such a node. Every field has a default of ``None`` or empty: absent is absent.
        Field names carry units (``size_bytes``); ``*address`` and ``*handle`` are addresses.
    label : callable
        Short text for a box from a payload (which may be ``None``).
    decode : callable
        ``decode(reader, handles)`` returns one payload per node handle of this type.
    dot_names : tuple of str
        Words for this type in the driver's DOT.
    description : str
    """

    name: str
    number: int
    category: Category
    payload: type[msgspec.Struct] | None
    label: Callable[[Any], str]
    decode: Callable[[Reader, Sequence[int]], list[Any]]
    dot_names: tuple[str, ...] = ()
    description: str = ""


def read_nothing(reader: Reader, handles: Sequence[int]) -> list[Any]:
    """Decode a type that has no fields, or whose fields no call returns."""
    return [None] * len(handles)


@lru_cache(maxsize=1024)
def unknown_type(name: str) -> NodeType:
    """Return a stand-in for a type that has no module."""
    number = int(name[5:]) if name.startswith("type_") and name[5:].isdigit() else -1
    return NodeType(
        name=name,
        number=number,
        category=Category.UNKNOWN,
        payload=None,
        label=lambda payload: name,
        decode=read_nothing,
        description="a node type this version does not know",
    )
