"""Kernel names for people, on names from real graphs."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture import names

DATA = Path(__file__).parent / "data" / "driver_dot"
GELU = (
    "_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_18GeluCUDAKernelImplERNS_18Tensor"
    "IteratorBaseENS0_8GeluTypeEENKUlvE0_clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EEEEviT0"
    "_T1_"
)
ADD = (
    "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_15CUDAFunctor_addIN3c104HalfEEESt5array"
    "IPcLm3EEEEviT0_T1_"
)
CLAMP = (
    "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_49_GLOBAL__N__d2ba64fb_16_Tensor"
    "Compare_cu_71e06f4e19launch_clamp_scalarERNS_18TensorIteratorBaseEN3c106ScalarES6_NS0_6detail"
    "11ClampLimitsEENKUlvE_clEvENKUlvE5_clEvEUlfE_St5arrayIPcLm2EEEEviT0_T1_"
)
LAYER_NORM = (
    "_ZN2at6native53_GLOBAL__N__21739cd4_20_layer_norm_kernel_cu_9c5ada8a28vectorized_layer_norm_"
    "kernelIN3c104HalfEfLb0EEEviT0_PKT_S8_S8_PS5_S9_PS6_"
)
SUM = (
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_functor"
    "IfffEclERNS_14TensorIteratorEEUlffE_EEjfLi4ELi4EEEEEvT1_"
)
FLASH = (
    "_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi64ELi128ELi128ELi4ELb0ELb0EN7cutlass6"
    "half_tE19Flash_kernel_traitsILi64ELi128ELi128ELi4ES3_EELb0ELb1ELb0ELb0ELb1ELb1ELb0ELb0EEEv16"
    "Flash_fwd_params"
)
CUDNN = (
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_"
    "kernel0_0"
)
PLAIN = [
    "nvjet_tst_128x64_64x6_2x1_v_bz_TNT",
    "triton_poi_fused_add_gelu_0",
    "input_reduce_fusion",
    "gemm_fusion_dot",
    "sm90_xmma_gemm_f16f16_f16f32_f32_tn",
]
# A few hundred bytes whose demangled form would be gigabytes: each part holds the last one twice.
BOMB = "_Z1f1aIiiE" + "".join(f"S_IS{c}_S{c}_E" for c in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (GELU, "Gelu (vectorized_elementwise)"),
        (ADD, "add (vectorized_elementwise)"),
        (CLAMP, "clamp_scalar (vectorized_elementwise)"),
        (LAYER_NORM, "vectorized_layer_norm_kernel"),
        (SUM, "sum (reduce)"),
        (FLASH, "flash_fwd_kernel"),
        ("_Z5stepAv", "stepA"),
        ("_Z5scaleIfEvPT_i", "scale"),
        (CUDNN, "cudnn_generated_fort_native_sdpa_sm90_f…"),
        *((name, name) for name in PLAIN),
    ],
)
def test_short_names(name: str, expected: str) -> None:
    assert names.short(name) == expected
    assert len(expected) <= names.MAX_SHORT


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (ADD, "vectorized_elementwise_kernel<add>"),
        (LAYER_NORM, "vectorized_layer_norm_kernel"),
        ("nvjet_sm90_hsh_64x64_64x13_2x1_v_bz_bias_TNT", "nvjet_sm90_hsh_v_bz_bias_TNT"),
        ("triton_poi_fused_add_gelu_0", "triton_poi_fused_add_gelu"),
        (CUDNN, "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16"),
        ("_Z5stepAv", "stepA"),
        ("0", "0"),
    ],
)
def test_families(name: str, expected: str) -> None:
    assert names.family(name) == expected


def test_tiles_and_types_do_not_change_the_family() -> None:
    assert names.family(ADD) == names.family(ADD.replace("ILi8E", "ILi4E"))
    assert names.family("nvjet_sm90_hsh_24x64_64x16_4x2_h_bz_bias_TNN") == names.family(
        "nvjet_sm90_hsh_64x64_64x13_4x2_h_bz_bias_TNN"
    )
    assert names.family(ADD) != names.family(GELU)


def test_readable_names() -> None:
    assert names.readable(ADD) == (
        "at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::Half>, "
        "std::array<char*, 3ul>>(int, at::native::CUDAFunctor_add<c10::Half>, "
        "std::array<char*, 3ul>)"
    )
    for name in PLAIN:
        assert names.readable(name) == name


def test_every_mangled_name_of_the_samples_becomes_readable() -> None:
    found = set()
    for path in DATA.glob("*.dot"):
        found |= set(re.findall(r"_Z\w+", path.read_text()))
    assert len(found) >= 6
    for name in found:
        assert not names.short(name).startswith("_Z"), name
        assert "(" in names.readable(name)


@given(st.text(max_size=60) | st.text("_ZNSILEK0123456789abT", max_size=60).map("_Z{}".format))
def test_any_text_gives_some_name(name: str) -> None:
    assert len(names.short(name)) <= names.MAX_SHORT
    assert bool(names.short(name)) == bool(name)
    assert bool(names.family(name)) == bool(name)
    assert isinstance(names.readable(name), str)


def test_a_megabyte_name_is_left_alone_and_fast() -> None:
    name = "_Z" + "N3foo" * 200_000
    started = time.process_time()
    assert names.readable(name) == name
    assert len(names.short(name)) == names.MAX_SHORT
    assert len(names.family(name)) <= 1000
    assert time.process_time() - started < 5


def test_a_name_that_would_demangle_to_gigabytes_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(names._Patience, "timeouts", 0)
    started = time.monotonic()
    assert names.readable(BOMB) == BOMB
    assert time.monotonic() - started < 30
    started = time.monotonic()
    for number in range(50):
        assert names.readable(f"{BOMB}{number}").startswith("_Z")
    assert time.monotonic() - started < 30


def test_long_honest_names_with_many_references_are_demangled() -> None:
    name = "_Z1fN1a1bE" + "NS_1cE" * 20
    assert len(names._REFERENCE.findall(name)) > names._TRUSTED_REFERENCES
    assert names.readable(name) == "f(a::b" + ", a::c" * 20 + ")"
