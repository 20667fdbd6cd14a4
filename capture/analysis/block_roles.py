"""What blocks without a name are to a graph: workspace, input, or kept by the script. Pure."""

from __future__ import annotations

from ..memory_map import STATES
from .later import in_own_pool
from .pointing import Pointing
from .subject import Subject
from .workspaces import DEFAULT_BYTES, candidates, users

WORKSPACE = "workspace of cuBLAS, by its size"
KEPT = "output, or kept by the script"
INPUT = "input"
TEMPORARY = "temporary"
_FREE = STATES.index("free")


TELLING_BYTES = tuple(size for size in DEFAULT_BYTES if size != 1 << 20)
"""Sizes that tell a workspace; tensors that only products use often have 1 MiB, too."""


def block_roles(
    subject: Subject, workspace_bytes: tuple[int, ...] = TELLING_BYTES
) -> dict[int, str]:
    """Return the roles of nameless blocks, by first address.

    A workspace is told by its size and by who points at it: matrix products, or nobody. Of others
    only those have a role that nodes certainly point into. What was allocated outside of the
    graph's pool was there before, or was made by others: an input. What the capture left allocated
    in the graph's pool is an output, or something else that the script keeps; the rest of the pool
    lives in a replay alone.

    Parameters
    ----------
    subject : Subject
    workspace_bytes : tuple of int
        Sizes that workspaces have.

    Notes
    -----
    O(pointers + blocks).
    """
    memory = subject.memory
    if memory is None or memory.blocks is None:
        return {}
    found: dict[int, str] = {}
    by_start: dict[int, list[int]] = {}
    for number, (word, place) in enumerate(subject.pointers):
        if place.kind == "block" and not place.name:
            by_start.setdefault(place.start, []).append(number)
            if not word.guess and place.start not in found:
                free = memory.blocks.state[place.number] == _FREE
                if in_own_pool(memory, place.number):
                    found[place.start] = TEMPORARY if free else KEPT
                elif not free:
                    found[place.start] = INPUT
    for candidate in candidates(memory, workspace_bytes):
        pointers = [subject.pointers[at] for at in by_start.get(candidate.address, [])]
        held = Pointing(subject.graph, {candidate.address: pointers}, pointers, memory)
        if users(held, candidate.address) is not None:
            found[candidate.address] = WORKSPACE
    return found
