"""Conditional nodes: if, while and switch; each body is a graph of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..errors import NotSupportedError
from .base import Category, NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reader import Reader


class ConditionalPayload(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A node whose bodies run depending on a value that kernels set."""

    kind: str = ""
    """``"if"``, ``"while"`` or ``"switch"``."""
    conditional_handle: int | None = None
    body_count: int | None = None


KINDS = {0: "if", 1: "while", 2: "switch"}


def decode(reader: Reader, handles: Sequence[int]) -> list[ConditionalPayload | None]:
    """Read every node and announce its bodies.

    ``cuGraphNodeGetParams`` (CUDA 13.2) tells both; before it, the driver's DOT does.
    """
    with reader.phase("conditionals"):
        try:
            found = reader.driver.conditionals(handles).values
        except NotSupportedError:
            found = [None] * len(handles)
    payloads: list[ConditionalPayload | None] = []
    for handle, fields in zip(handles, found, strict=True):
        if fields is None or not all(fields.bodies) or not fields.bodies:
            payloads.append(_from_dot(reader, handle))
            continue
        for index, graph in enumerate(fields.bodies):
            reader.add_body(handle, index, role(fields.kind, index), graph=graph)
        payloads.append(_payload(fields.kind, fields.handle, len(fields.bodies)))
    return payloads


def _from_dot(reader: Reader, node: int) -> ConditionalPayload | None:
    found = reader.dot_conditional(node)
    if found is None:
        reader.warn(f"{reader.name_of(node)}: the driver does not tell its bodies")
        return None
    for index, cluster in enumerate(found.clusters):
        nodes = reader.dot_nodes(cluster)
        if nodes is None:
            reader.warn(f"{reader.name_of(node)}: body {index} is missing in the driver's DOT")
        else:
            reader.add_body(node, index, role(found.kind, index), nodes=nodes)
    return _payload(found.kind, found.handle, len(found.clusters))


def _payload(kind: int, handle: int | None, body_count: int) -> ConditionalPayload:
    return ConditionalPayload(
        kind=KINDS.get(kind, f"kind_{kind}"), conditional_handle=handle, body_count=body_count
    )


def role(kind: int, index: int) -> str:
    """Name a body of a ``CUgraphConditionalNodeType`` by its index."""
    if kind == 0 and index < 2:
        return ("if", "else")[index]
    if kind == 1:
        return "while"
    return f"case {index}"


def label(payload: ConditionalPayload | None) -> str:
    """Return the kind of conditional."""
    return (payload.kind if payload is not None else "") or "conditional"


NODE_TYPE = NodeType(
    name="conditional",
    number=13,
    category=Category.GRAPH,
    payload=ConditionalPayload,
    label=label,
    decode=decode,
    dot_names=("CONDITIONAL",),
    description="graphs that run, repeat or are chosen by a value that kernels set",
)
