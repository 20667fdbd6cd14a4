"""Which blocks are workspaces of cuBLAS, as far as memory evidence tells. Shared by findings.

torch allocates one workspace per handle and stream, at the first matrix product, in the pool that
is current then; it has no name and is known by its size and by who points at it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..memory.pointers import Memories, Pointer
from ..memory_map import Memory
from ..nodes.memset import MemsetPayload
from .later import (
    ALLOCATED,
    Later,
    device_of,
    in_own_pool,
)
from .pointing import (
    Pointing,
)

DEFAULT_BYTES = (1 << 20, 8_519_680, 33_554_432)
"""What torch takes unless its settings say otherwise: for cuBLASLt; for cuBLAS before Hopper, and
from there on."""
_MATRIX = re.compile(
    r"nvjet|gemm|gemv|cutlass|cublas|splitk|split_k|matmul|dot_kernel|xmma|ampere_|sm\d\d_",
    re.IGNORECASE,
)


class Candidate(NamedTuple):
    """A block that may be a workspace, as one graph sees it."""

    block: int
    device: int
    address: int
    size_bytes: int
    own: bool
    """Whether it lies in the graph's own pool."""
    pointed: bool


def sizes_of(later: Later | None) -> tuple[int, ...]:
    """Return the bytes that workspaces have in a process."""
    after = later.after if later is not None else None
    return tuple(after.workspace_bytes) if after and after.workspace_bytes else DEFAULT_BYTES


def candidates(memory: Memory, sizes: tuple[int, ...]) -> list[Candidate]:
    """Return allocated blocks without a name that have the size of a workspace."""
    blocks = memory.blocks
    if blocks is None or not blocks.requested_bytes:
        return []
    found = []
    names: Memories | None = None
    for at, requested in enumerate(blocks.requested_bytes):
        if requested not in sizes or blocks.state[at] != ALLOCATED:
            continue
        names = names or Memories(memory)
        if not names.name_at(blocks.address[at]):
            found.append(
                Candidate(
                    at,
                    device_of(memory, at),
                    blocks.address[at],
                    blocks.size_bytes[at],
                    in_own_pool(memory, at),
                    bool(blocks.pointed and blocks.pointed[at]),
                )
            )
    return found


def users(held: Pointing, address: int) -> list[Pointer] | None:
    """Return which matrix products point into a workspace; ``None`` if other nodes do, too.

    Memsets may: products that split their sum clear counters there. Words of other kernels that may
    be numbers are taken for leftovers where products point there as well.
    """
    found, others = [], 0
    for pointer in held.by_start.get(address, []):
        node = pointer.word.node
        if isinstance(held.payload_of(node), MemsetPayload):
            continue
        if _MATRIX.search(held.name_of(node)):
            found.append(pointer)
        elif not pointer.word.guess:
            return None
        else:
            others += 1
    return None if others and not found else found
