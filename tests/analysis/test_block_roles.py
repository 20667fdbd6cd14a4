"""What blocks without a name are to a graph, on made-up memory."""

from __future__ import annotations

from capture.analysis import Subject
from capture.analysis.block_roles import INPUT, KEPT, TEMPORARY, WORKSPACE, block_roles
from capture.memory.torch_snapshot import Tables, add_segments
from capture.memory_map import Memory
from tests.helpers.synthetic_memory import (
    BASE,
    OWN,
    POOL,
    SCALE,
    fill,
    graph,
    kernel,
    memory,
    segment,
)

PRODUCT = "_Z4gemmPfyPKf"
WORKSPACE_BYTES = 8_519_680
USED = "active_allocated"


def found() -> tuple[Memory, int, int]:
    """Return memory with two blocks that have the size of a workspace."""
    made = memory()
    first, second = POOL + (1 << 30), POOL + (2 << 30)
    taken = [segment(at, [(WORKSPACE_BYTES, USED)], OWN) for at in (first, second)]
    for item in taken:
        item["blocks"][0]["requested_size"] = WORKSPACE_BYTES
    others = [
        segment(BASE, [(512, USED), (512, "inactive")]),
        segment(POOL, [(1024, USED), (3072, "inactive")], OWN),
    ]
    add_segments(Tables(made), [*others, *taken])
    return made, first, second


def test_blocks_are_told_by_pool_state_size_and_users() -> None:
    made, first, second = found()
    made.names = None
    nodes = [
        kernel(SCALE, BASE, 0, POOL + 1024),
        kernel(PRODUCT, POOL, 0, first),
        fill(first, 8),
    ]
    assert block_roles(Subject(graph(nodes), memory=made)) == {
        BASE: INPUT,
        POOL: KEPT,
        POOL + 1024: TEMPORARY,
        first: WORKSPACE,
        second: WORKSPACE,
    }


def test_what_others_use_is_no_workspace_and_what_has_a_name_needs_no_role() -> None:
    made, first, second = found()
    roles = block_roles(Subject(graph([kernel(SCALE, BASE, 0, first)]), memory=made))
    assert roles == {first: KEPT, second: WORKSPACE}
    assert block_roles(Subject(graph([]))) == {}
