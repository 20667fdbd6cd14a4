"""Leftovers in structures of known kernels are no pointers; launches are made up."""

from __future__ import annotations

import struct

import pytest

from capture.memory.accesses import Access, direction_text
from capture.memory.directions import Directions
from capture.memory.structures import pointers_in
from capture.memory.words import words
from capture.model import Kernel
from capture.nodes.kernel import KernelPayload
from tests.helpers.synthetic_memory import BASE, POOL, graph

ALIKE = 0x7F3000000000
"""Stands wherever a launch leaves what was in memory before."""


def found_in(
    name: str,
    parameters: list[tuple[int, int]],
    held: dict[int, int],
    grid: tuple[int, int, int] = (1, 1, 1),
    left_over: int = ALIKE,
) -> list[tuple[int, bool]]:
    """Return byte and guess of the words of a launch that is full of leftovers."""
    size = max(offset + length for offset, length in parameters)
    data = bytearray(struct.pack("<Q", left_over) * -(-size // 8))
    for offset, word in held.items():
        data[offset : offset + 8] = struct.pack("<Q", word)
    kernel = Kernel(name=name, parameters=list(parameters))
    launch = KernelPayload(kernel=kernel, arguments=bytes(data), grid=grid)
    return [(word.offset_bytes, word.guess) for word in words(graph([launch]))]


XMMA = (
    "sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize64x64x64"
    "_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"
)


@pytest.mark.parametrize("begin", [328, 376])
def test_an_empty_workspace_of_an_xmma_kernel_leads_nowhere(begin: int) -> None:
    tensors = {48: BASE, 56: BASE + 64, 64: POOL, 72: POOL}
    end = POOL + 0x410020
    empty = {begin: end, begin + 8: 0, begin + 16: end, begin + 24: end}
    assert found_in(XMMA, [(0, 2928)], tensors | empty, left_over=0) == [
        (offset, True) for offset in tensors
    ]
    # With partial sums and 256 bytes of counters, it is one.
    used = {begin: end, begin + 8: 0x100, begin + 16: end + 4096, begin + 24: end + 4352}
    found = found_in(XMMA, [(0, 2928)], tensors | used, left_over=0)
    assert [offset for offset, _ in found] == [*tensors, begin, begin + 16, begin + 24]


def test_three_equal_addresses_of_other_kernels_are_kept() -> None:
    same = {376: POOL, 384: 0, 392: POOL, 400: POOL}
    found = found_in("plain", [(0, 736)], same, left_over=0)
    assert [offset for offset, _ in found] == [376, 392, 400]


def test_a_concatenation_holds_as_many_addresses_as_rows_of_blocks() -> None:
    name = (
        "_ZN2at6native40_GLOBAL__N__0f1a8107_8_Shape_cu_49f7391c30CatArrayBatchedCopy_vectorized"
        "INS1_10OpaqueTypeILj4EEEjLi2ELi128ELi1ELi16ELi4EEEvPcNS1_25CatArrInputTensorMetadataIT_"
        "T0_XT2_EXT3_EEENS1_16TensorSizeStrideIS8_Lj4EEEiS8_"
    )
    parameters = [(0, 8), (8, 2720), (2728, 32), (2760, 4), (2764, 4)]
    found = found_in(name, parameters, {0: POOL, 8: BASE, 16: BASE + 64}, (512, 2, 1))
    assert found == [(0, False), (8, False), (16, False)]


def test_structures_of_another_size_are_unknown() -> None:
    tensor = "at::cuda::detail::TensorInfo<long, unsigned int>"
    assert pointers_in(tensor, 216) == {0: False}
    assert pointers_in(tensor, 416) is None
    assert pointers_in("at::cuda::detail::TensorInfo<long, unsigned long>", 416) == {0: False}
    reduction = "at::native::ReduceOp<float, F, unsigned int, float, 4, 4>"
    assert pointers_in(reduction, 1048) == {
        984: False,
        992: False,
        1000: True,  # a second destination, which most launches leave as it was
        1008: False,
        1016: False,
        1024: False,
    }
    assert pointers_in(reduction, 1036) is pointers_in(reduction, 1200) is None
    assert pointers_in("float4", 16) is None


def test_sizes_and_strides_before_the_addresses_of_an_index_kernel_are_numbers() -> None:
    name = (
        "_ZN2at6native24index_elementwise_kernelILi128ELi4EZNS0_22index_copy_kernel_implINS0_10"
        "OpaqueTypeILi2EEEEEvRNS_14TensorIteratorElllEUliE_EEvlT1_"
    )
    found = found_in(name, [(0, 8), (8, 648)], {616: BASE, 624: POOL, 632: POOL + 64})
    assert [offset for offset, _ in found] == [616, 624, 632, 640, 648]
    # Of a lambda that is not known there is one operand or more: 4 + 12 * 25 + 4 * 25 bytes.
    other = name.replace("22index_copy_kernel_impl", "16flip_kernel_impl")
    found = found_in(other, [(0, 8), (8, 528)], {})
    assert [offset for offset, _ in found] == list(range(416, 536, 8))


def test_a_reduction_reads_its_source_and_writes_its_results() -> None:
    name = (
        "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_fun"
        "ctorIfffEclERNS_14TensorIteratorEEUlffE_EEjfLi4ELi4EEEEEvT1_"
    )
    pointers = [984, 992, 1000, 1008, 1016, 1024]
    found = found_in(name, [(0, 1048)], {})
    assert found == [(offset, offset == 1000) for offset in pointers]
    ways = Directions(Kernel(name=name, parameters=[(0, 1048)]))
    assert [direction_text(Access(0, 0, 8, *ways.of(0, at), False)) for at in pointers[:4]] == [
        "reads",
        "writes, and may read",
        "writes, and may read",
        "may read and write",
    ]


def test_leftovers_in_structures_of_cudnn_are_no_pointers() -> None:
    turn = (
        "_ZN5cudnn19engines_precompiled16nchwToNhwcKernelIfffLb0ELb1EL21cudnnKernelDataType_t0EEEvNS"
        "0_18nchw2nhwc_params_tIT1_EEPKT_PT0_"
    )
    found = found_in(turn, [(0, 68), (72, 8), (80, 8)], {72: BASE, 80: POOL})
    assert found == [(72, False), (80, False)]
    norm = (
        "_ZN5cudnn24bn_fw_tr_1C11_singlereadIfLi512ELb1ELi1ELi2ELi0EEEvNS_18bn_fw_tr_1C11_argsIT_EE"
    )
    found = found_in(norm, [(0, 376)], {104: BASE, 216: POOL})
    assert [offset for offset, _ in found] == [104, *range(216, 376, 8)]
    # Of another size it is another structure.
    assert len(found_in(norm, [(0, 384)], {})) == 48
    attention = "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_3_kernel0_0"
    found = found_in(attention, [(0, 8), (8, 200), (208, 8), (216, 192)], {0: BASE, 208: POOL})
    assert [offset for offset, _ in found] == [0, *range(208, 408, 8)]
