from __future__ import annotations

import struct

from capture.codec import decode_evidence, encode_evidence
from capture.evidence import STORED
from capture.memory.lifetimes import lifetimes, peak
from capture.memory.pointers import resolve
from capture.memory.sums import against_torch, pool_sums, shares, step
from capture.memory.words import words
from capture.memory_map import ACTIONS, Events
from capture.model import Kernel
from capture.nodes.kernel import KernelPayload
from capture.nodes.mem_alloc import MemAllocPayload
from tests.helpers.synthetic_memory import (
    BASE,
    OWN,
    PAGEABLE,
    PINNED,
    POOL,
    copy,
    fill,
    graph,
    kernel,
    memory,
)

SCALE = "_Z5scalePfyPKf"  # scale(float*, unsigned long long, float const*)


def test_declared_numbers_are_no_addresses_and_declared_pointers_no_guesses() -> None:
    found = list(words(graph([kernel(SCALE, BASE, BASE + 8, POOL)])))
    assert [(word.argument, word.guess) for word in found] == [(0, False), (2, False)]


def test_words_in_structures_and_past_the_parameters_are_guesses() -> None:
    found = list(words(graph([kernel("plain", 7, BASE, POOL, size=16)])))
    assert [(word.argument, word.offset_bytes, word.guess) for word in found] == [
        (0, 8, True),
        (-1, 16, True),
    ]


def test_a_declared_type_of_another_size_says_nothing() -> None:
    # The demangler takes the third parameter, an array of three pointers, for a float.
    scale = (
        "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_43_GLOBAL__N__50f1b6c4_10_Dropout_cu"
        "_0e96ed3819masked_scale_kernelIbffEEvRNS_6TensorERKS4_S7_T1_EUlfbE_St5arrayIPcLm3EEEEvi"
        "T0_S8_"
    )
    launch = KernelPayload(
        kernel=Kernel(name=scale, parameters=[(0, 4), (8, 16), (24, 24)]),
        arguments=struct.pack("<QQQQQQ", 8, 0, 0, BASE, POOL, BASE + 8),
    )
    found = list(words(graph([launch])))
    assert [(word.offset_bytes, word.guess) for word in found] == [
        (24, False),
        (32, False),
        (40, False),
    ]


def test_lists_of_tensors_hold_as_many_addresses_as_blocks_name() -> None:
    name = (
        "_ZN2at6native57_GLOBAL__N__e658eeb9_24_ForeachBinaryOpScalar_cu_86b9896c25multi_tensor_apply"
        "_kernelINS1_18TensorListMetadataILi1EEENS1_21BinaryOpScalarFunctorIfLi1ELi1ELi0EEEJSt10"
        "multipliesIfEfEEEvT_T0_DpT1_"
    )
    data = bytearray(struct.pack("<Q", BASE) * 421)  # leftovers everywhere
    data[0:24] = struct.pack("<QQQ", POOL, POOL + 64, POOL + 128)
    data[1760:1764] = bytes((0, 0, 1, 2))  # the tensors that four blocks work on
    launch = KernelPayload(
        kernel=Kernel(name=name, parameters=[(0, 3368), (3368, 1), (3369, 1), (3372, 4)]),
        arguments=bytes(data) + bytes(8),
        grid=(4, 1, 1),
    )
    found = list(words(graph([launch])))
    assert [(word.offset_bytes, word.guess) for word in found] == [
        (0, False),
        (8, False),
        (16, False),
    ]
    # Of another size it is another structure, of which nothing is known.
    other = Kernel(name=name, parameters=[(0, 3376), (3376, 1), (3377, 1), (3380, 4)])
    launch.kernel = other
    assert len(list(words(graph([launch])))) == 421


def test_every_kind_of_place() -> None:
    allocation = MemAllocPayload(address=0x7F9000000000, size_bytes=64)
    found = resolve(
        graph(
            [
                kernel(SCALE, BASE + 4, 0, BASE + 600),
                kernel(SCALE, POOL, 0, POOL + 2000),
                copy(PAGEABLE, PINNED + 8, 64, "HH"),
                allocation,
                fill(0x7F9000000010, 8),
                kernel(SCALE, 0x7FA000000000, 0, 0),
            ]
        ),
        memory(),
    )
    assert [(item.place.kind, item.place.state, item.place.pool) for item in found] == [
        ("block", "allocated", (0, 0)),
        ("block", "free", (0, 0)),
        ("block", "allocated", OWN),
        ("block", "free", OWN),
        ("host", "pageable", None),
        ("outside", "host", None),
        ("graph", "", None),
        ("graph", "", None),
        ("unresolved", "", None),
    ]
    assert (found[0].place.name, found[0].word.address - found[0].place.start) == ("Net: weight", 4)
    assert found[1].place.name == ""
    assert found[7].place.owner == "3"


def test_host_memory_is_not_called_pageable_unless_cuda_was_asked() -> None:
    unasked = memory()
    unasked.asked_ranges = False
    (source, _) = resolve(graph([copy(PAGEABLE, BASE, 8, "HD")]), unasked)
    assert source.place.kind == "unresolved"


def test_copies_have_exact_bytes_only_where_they_lie_side_by_side() -> None:
    plane = copy(BASE, POOL, 64)
    plane.height = 2
    flat, rows = list(words(graph([copy(BASE, POOL, 64)]))), list(words(graph([plane])))
    assert [(word.size_bytes, word.writes) for word in flat] == [(64, False), (64, True)]
    assert [word.size_bytes for word in rows] == [None, None]


def test_sums_by_pool_and_what_the_capture_added() -> None:
    found = memory()
    rows = {(row.mark, row.pool): row for row in pool_sums(found)}
    after = rows[1, OWN]
    assert (after.reserved_bytes, after.allocated_bytes, after.requested_bytes) == (
        4096,
        1024,
        1020,
    )
    assert (after.free_bytes, after.fragmentation) == (3072, 0)
    assert [row.torch_bytes == row.summed_bytes for row in against_torch(found)] == [True] * 4
    made = step(found)
    assert made is not None
    assert (made.added_bytes, made.pool_before_bytes, made.kept_bytes) == (4096, 0, 1024)


def test_a_difference_to_torchs_counters_is_kept() -> None:
    found = memory()
    found.counters[1].allocated_bytes = 9999
    (row,) = [row for row in against_torch(found) if row.torch_bytes != row.summed_bytes]
    assert (row.what, row.torch_bytes, row.summed_bytes) == ("allocated", 9999, 1536)


def test_shares_count_each_block_once() -> None:
    found = memory()
    pointers = resolve(graph([kernel(SCALE, BASE, 0, BASE + 8), kernel(SCALE, POOL, 0, 0)]), found)
    assert [
        (row.kind, row.blocks, row.size_bytes)
        for row in shares(found, (pointer.place for pointer in pointers))
    ] == [
        ("own pool, kept", 1, 1024),
        ("common", 1, 512),
    ]


def test_memory_survives_being_stored() -> None:
    found = memory()
    kind = STORED["memory"]
    assert decode_evidence(kind, encode_evidence(kind, found), "it") == found


def events(*rows: tuple[str, int, int]) -> Events:
    return Events(
        action=[ACTIONS.index(name) for name, _, _ in rows],
        address=[address for _, address, _ in rows],
        size_bytes=[size for _, _, size in rows],
        at_us=list(range(len(rows))),
    )


def test_lifetimes_of_addresses_that_are_used_again() -> None:
    history = events(
        ("free_requested", 5, 1),  # of something older
        ("alloc", 1, 10),
        ("alloc", 2, 20),
        ("free_requested", 1, 10),
        ("free_completed", 1, 10),
        ("alloc", 1, 7),
        ("free_requested", 2, 20),
    )
    found = [(item.address, item.allocated, item.freed) for item in lifetimes(history)]
    assert found == [(1, 1, 3), (2, 2, 6), (1, 5, None)]
    assert peak(history) == (30, 2)
    assert peak(events()) == (0, -1)
