"""Which words of a structure that a kernel takes by value are addresses, by its type. Pure.

Structures are filled on the host's stack, and what a launch does not use of them keeps what was
there before: addresses of other launches among it. Of torch's own structures the source tells where
addresses stand. Of cuDNN's it is what an H200 showed: all launches of the golden recordings hold
small numbers there, or addresses of the host's stack. Sizes are checked, so that another version of
a structure is unknown.
"""

from __future__ import annotations

import re

_DIMENSIONS = 25
"""Most dimensions of a tensor in torch's kernels."""
_INDEX_BYTES = {"unsigned int": 4, "int": 4, "unsigned long": 8, "long": 8}

_TENSOR = re.compile(r"at::cuda::detail::TensorInfo<.*, (\w[\w ]*)>\Z")
_REDUCTION = re.compile(r"at::native::ReduceOp<")
_REDUCTION_TAIL = 64
"""Source, two destinations, three buffers, a number, and two flags with a count."""
_REDUCTION_HEAD = 64 + 404 + 504
"""Configuration, and sizes and strides of input and outputs, before the tail."""
_MOST_BEFORE = 64
"""Bytes of the operation itself and of its first value, padding included."""
_NUMBERS = re.compile(
    r"(?:at::native::memory::(?:Load|Store)WithCast<\d+>"
    r"|at::native::\(anonymous namespace\)::TensorSizeStride<[\w ]+, \d+u>)\Z"
)
_OF_CUDNN = {
    "cudnn::engines_precompiled::nchw2nhwc_params_t<float>": 68,
    "cudnn::engines_precompiled::nhwc2nchw_params_t<float>": 72,
    "cudnnTensorStruct": 104,
    "cudnnTensorTransformStruct": 100,
    "tensorTransformParams": 160,
    "kernel_conv_params": 148,
    "kernel_grad_params": 216,
}
"""Structures of sizes and strides, with their own: kernels take the addresses beside them."""
_WITH_TENSORS = {
    ("cudnn::bn_fw_tr_1C11_args<float>", 376): (0, 112),
    ("cudnn::bn_bw_1C11_args<float>", 472): (16, 128, 240),
}
"""Where structures of cuDNN's hold a ``cudnnTensorStruct``, which an address follows."""
_GENERATED = "cudnn_generated_"
_GENERATED_TENSOR = 8 * (1 + 12 + 12)
"""Bytes of a structure of rank, sizes and strides that kernels which cuDNN generates take."""
_CALCULATED = (
    (re.compile(r"\b_cuda_scatter_fill_internal_kernel<"), 2),
    (re.compile(r"\b(?:_cuda_scatter_gather_internal_kernel|gpu_index_kernel)<"), 3),
    (re.compile(r"\bindex_copy_kernel_impl<"), 3),
)
"""Lambdas that first capture sizes and strides of so many operands."""
_OVER_INDICES = re.compile(r"\bindex_elementwise_kernel<")
"""Kernels whose lambda does so for one operand or more."""


def numbers_in(type_: str, size: int, kernel: str = "") -> list[tuple[int, int]]:
    """Return begin and end of the parts of a structure that are known to hold no address.

    Parameters
    ----------
    type_ : str
        As a kernel's signature declares it.
    size : int
        In bytes.
    kernel : str, optional
        Demangled.
    """
    tensors = _WITH_TENSORS.get((type_, size), ())
    if tensors:
        return [(begin, begin + _OF_CUDNN["cudnnTensorStruct"]) for begin in tensors]
    least = 1 if _OVER_INDICES.search(kernel) else 0
    operands = next((count for name, count in _CALCULATED if name.search(type_)), least)
    end = 4 + 12 * _DIMENSIONS + 4 * _DIMENSIONS * operands
    return [(0, end)] if operands and end < size else []


def is_numbers(kernel: str, size: int) -> bool:
    """Say whether a parameter of that many bytes holds no address, by its kernel's name alone.

    cuDNN generates kernels without a signature. An address comes first, and then such a structure:
    rank, sizes and strides with room for 12, of which what the rank does not need is left over.
    """
    return size == _GENERATED_TENSOR and kernel.startswith(_GENERATED)


def source_and_results(type_: str, size: int) -> tuple[int, int, int] | None:
    """Return where a reduction holds its source, and begin and end of where it holds results.

    Parameters
    ----------
    type_ : str
        As a kernel's signature declares it.
    size : int
        In bytes.
    """
    if not _REDUCTION.match(type_) or not pointers_in(type_, size):
        return None
    first = size - _REDUCTION_TAIL
    return first, first + 8, first + 24


def pointers_in(type_: str, size: int) -> dict[int, bool] | None:
    """Return the bytes of a structure at which addresses stand, and whether they are guesses.

    Parameters
    ----------
    type_ : str
        As a kernel's signature declares it.
    size : int
        In bytes.

    Returns
    -------
    dict of int to bool, or None
        ``None`` of a structure that is not known. All other words of one that is are numbers.

    Examples
    --------
    >>> pointers_in("at::cuda::detail::TensorInfo<float const, unsigned int>", 216)
    {0: False}
    >>> pointers_in("at::native::memory::LoadWithCast<1>", 8)
    {}
    """
    tensor = _TENSOR.match(type_)
    if tensor is not None:
        index = _INDEX_BYTES.get(tensor[1], 0)
        known = 8 + 2 * _DIMENSIONS * index + 4
        return {0: False} if index and size == -(-known // 8) * 8 else None
    if _NUMBERS.match(type_) or _OF_CUDNN.get(type_) == size:
        return {}
    if _REDUCTION.match(type_):
        first = size - _REDUCTION_TAIL
        if size % 8 or not 0 < first - _REDUCTION_HEAD <= _MOST_BEFORE:
            return None
        # Of two destinations the second is only set where there are two.
        return {first + 8 * at: at == 2 for at in range(6)}
    return None
