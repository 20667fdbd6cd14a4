from __future__ import annotations

import struct

import pytest

from capture.memory.addresses import (
    Block,
    BlockMap,
    Pointer,
    addresses,
    blocks_of,
    lost,
    replaced,
    temporaries_of,
)
from tests.driver.test_contract import FakeWorld
from tests.helpers.declared import NODES, Declared, graph, kernel

WORLD = FakeWorld(node_params=False)
BASE = 0x7F0000000000


def test_words_of_arguments_that_may_be_addresses() -> None:
    # A pointer, a small number, a pointer inside a struct, and a tail of 4 bytes.
    data = struct.pack("<QiiQI", BASE, 7, 0, BASE + 64, 1)
    found = addresses(graph([Declared("empty"), kernel(WORLD, arguments=data)], []))
    assert found == {
        BASE: Pointer("1", "argument byte 0"),
        BASE + 64: Pointer("1", "argument byte 16"),
    }


def test_addresses_of_every_other_type() -> None:
    names = ["memcpy", "memset", "batch_mem_op", "host", "event_record", "empty"]
    found = addresses(graph([NODES[name](WORLD) for name in names], []))
    assert found[WORLD.other_buffer] == Pointer("0", "destination")
    assert found[WORLD.buffer] == Pointer("0", "source")
    assert found[WORLD.buffer + 8] == Pointer("2", "operation")
    assert set(found) == {WORLD.buffer, WORLD.other_buffer, WORLD.buffer + 8}


def test_addresses_inside_bodies_carry_their_path() -> None:
    outer = graph([Declared("empty"), NODES["child_graph"](WORLD)], [])
    assert addresses(outer)[WORLD.buffer].node == "1/0/0"


def test_a_block_map() -> None:
    blocks = BlockMap([Block(BASE + 4096, 512), Block(BASE, 1024)])
    assert blocks.find(BASE) == blocks.find(BASE + 1023) == Block(BASE, 1024)
    assert blocks.find(BASE + 1024) is blocks.find(BASE - 1) is None
    assert blocks.find(BASE + 4096 + 511) == Block(BASE + 4096, 512)
    assert blocks.span == (BASE, BASE + 4096 + 512)
    assert BlockMap([]).find(BASE) is None
    assert BlockMap([]).span == (0, 0)


@pytest.mark.parametrize("with_addresses", [True, False])
def test_blocks_of_a_snapshot(with_addresses: bool) -> None:
    blocks = [{"size": 512, "state": "inactive"}, {"size": 1536, "state": "active_allocated"}]
    if with_addresses:
        blocks[0]["address"], blocks[1]["address"] = BASE, BASE + 512
    segments = [
        {"device": 0, "address": BASE, "total_size": 2048, "blocks": blocks},
        {"device": 1, "address": 1 << 40, "total_size": 512, "blocks": [{"size": 512}]},
    ]
    assert blocks_of(segments, 0).blocks == [Block(BASE, 512), Block(BASE + 512, 1536)]
    assert len(blocks_of(segments, None)) == 3


def test_what_lives_only_within_a_replay() -> None:
    def segment(address: int, pool: tuple[int, int]) -> dict[str, object]:
        blocks = [{"size": 512, "state": "inactive"}, {"size": 512, "state": "active_allocated"}]
        return {"device": 0, "address": address, "segment_pool_id": pool, "blocks": blocks}

    segments = [segment(BASE, (0, 0)), segment(BASE + 4096, (1, 0))]
    assert temporaries_of(segments, 0) == {Block(BASE + 4096, 512)}
    common = blocks_of(segments, 0, common_only=True)
    assert common.blocks == [Block(BASE, 512), Block(BASE + 512, 512)]
    assert temporaries_of([], 0) == set()


def test_memory_that_is_gone() -> None:
    here, there = Pointer("0", "source"), Pointer("3", "argument byte 8")
    resolved = {BASE: here, BASE + 4096: there}
    both = BlockMap([Block(BASE, 8192)])
    one = BlockMap([Block(BASE, 512)])
    assert lost(resolved, both) is None
    assert lost(resolved, one) == (BASE + 4096, there)
    assert lost(resolved, one, [BASE + 4096]) is None


def test_memory_that_was_freed_and_is_another_s_now() -> None:
    here, there = Pointer("0", "source"), Pointer("3", "destination")
    resolved = {BASE: here, BASE + 4096: there}
    buffers: dict[int, int | None] = {BASE: 7, BASE + 4096: None}
    assert replaced(resolved, buffers, buffers.get) is None
    assert replaced(resolved, buffers, {BASE: 9}.get) == (BASE, here)
    assert replaced(resolved, buffers, {BASE: 7, BASE + 4096: 8}.get) == (BASE + 4096, there)
