"""What the matrix products and convolutions of cuBLAS and cuDNN read, by kernel and size. Pure.

NVIDIA does not document these structures. In all 1,071 launches of such kernels in the golden
recordings and the shipped samples the words listed here held two addresses, each at its places,
and neither was the result's. Another size is another structure, of which nothing is known.
"""

from __future__ import annotations

import re

_NVJET = 1720
_NVJET_OPERANDS = (176, 432, 816, 880, 1704, 240, 496, 944, 1008, 1712)
_NVJET_BIAS = 1632
_XMMA: tuple[tuple[re.Pattern[str], frozenset[int], tuple[int, ...]], ...] = tuple(
    (re.compile(name), frozenset(sizes), operands)
    for name, sizes, operands in (
        (r"sm80_xmma_gemm_", (736,), (0, 8)),
        (r"sm80_xmma_(?:fprop|dgrad)_implicit_gemm_", (1440, 1456, 1472, 1488), (0, 8)),
        (r"sm90_xmma_fprop_implicit_gemm_", (2928,), (48, 56, 1584, 1648)),
        (r"sm90_xmma_dgrad_implicit_gemm_f", (2864,), (48, 56, 1520, 1584)),
        (r"sm90_xmma_dgrad_implicit_gemm_indexed_", (3696,), (48, 56, *range(1264, 1905, 64))),
        (r"sm90_xmma_wgrad_indexed_implicit_gemm_", (2480,), (48, 56, 1136, 1200)),
    )
)


def operands_read(kernel: str, size: int) -> tuple[int, ...]:
    """Return the bytes of a launch's arguments at which addresses stand that are only read.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    size : int
        Of its parameters, in bytes.

    Examples
    --------
    >>> operands_read("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8", 736)
    (0, 8)
    """
    if kernel.startswith("nvjet_sm90_") and size == _NVJET:
        return (*_NVJET_OPERANDS, _NVJET_BIAS) if "_bias_" in kernel else _NVJET_OPERANDS
    for name, sizes, operands in _XMMA:
        if size in sizes and name.match(kernel):
            return operands
    return ()
