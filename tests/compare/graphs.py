"""Synthetic graphs for tests of comparing: made up, never captured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capture.model import Body, Graph, Kernel, Topology
from capture.nodes.kernel import KernelPayload

ADDRESS = 0x7F0100000000


def launch(
    name: str, grid: int = 8, address: int = ADDRESS, scalar: int = 7, **fields: Any
) -> KernelPayload:
    """Return a launch with a pointer and an integer as arguments."""
    return KernelPayload(
        kernel=Kernel(name=name, registers=32, parameters=[(0, 8), (8, 4)]),
        grid=(grid, 1, 1),
        block=(128, 1, 1),
        dynamic_shared_bytes=0,
        arguments=address.to_bytes(8, "little") + scalar.to_bytes(4, "little"),
        **fields,
    )


def chain(payloads: Sequence[Any], types: Sequence[str] | None = None) -> Graph:
    """Return nodes one after another."""
    count = len(payloads)
    return Graph(
        topology=Topology(
            types=list(types or ["kernel"] * count),
            source=list(range(count - 1)),
            target=list(range(1, count)),
        ),
        payloads=list(payloads),
    )


def kernels(names: str, **fields: Any) -> Graph:
    """Return a chain of kernels whose names are single letters, each with an address of its own."""
    return chain(
        [launch(f"{name}_kernel", address=ADDRESS + 512 * ord(name), **fields) for name in names]
    )


def graph(types: Sequence[str], edges: Sequence[tuple[int, int]], **fields: Any) -> Graph:
    """Return nodes that were not read, in any topology."""
    return Graph(
        topology=Topology(
            types=list(types), source=[a for a, _ in edges], target=[b for _, b in edges]
        ),
        payloads=fields.pop("payloads", [None] * len(types)),
        **fields,
    )


def conditional(*bodies: Graph) -> Graph:
    """Return one conditional node with bodies."""
    from capture.nodes.conditional import ConditionalPayload

    return Graph(
        topology=Topology(types=["conditional"]),
        payloads=[ConditionalPayload(kind="if", body_count=len(bodies))],
        bodies=[
            Body(node=0, index=index, role=("if", "else")[index], graph=body)
            for index, body in enumerate(bodies)
        ],
    )
