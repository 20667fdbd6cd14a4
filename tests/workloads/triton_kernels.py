"""Hand-written Triton kernels of the ``triton_fused`` workload, with their launchers."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, columns, scale, BLOCK: tl.constexpr):
    """Softmax of one row of `columns` numbers times `scale`, read and written once."""
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=inside, other=float("-inf")) * scale
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * columns + offsets, numerator / tl.sum(numerator, axis=0), mask=inside)


@triton.jit
def add_gelu_kernel(x_ptr, y_ptr, out_ptr, count, BLOCK: tl.constexpr):
    """GELU of x + y by its tanh form, elementwise over `count` numbers."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    total = tl.load(x_ptr + offsets, mask=inside) + tl.load(y_ptr + offsets, mask=inside)
    inner = 0.7978845608028654 * (total + 0.044715 * total * total * total)
    # 1 + tanh(z) = 2 * sigmoid(2 z): Triton has a sigmoid in its own language and no tanh.
    tl.store(out_ptr + offsets, total * tl.sigmoid(2.0 * inner), mask=inside)


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    K: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """One BLOCK_M x BLOCK_N tile of C = A B, all row-major and contiguous."""
    # K is known when compiling, since Triton 3.6's interpreter cannot loop up to a run-time value
    # under numpy 2.4.
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        left = (rows[:, None] < m) & (start + depth[None, :] < K)
        right = (start + depth[:, None] < K) & (columns[None, :] < n)
        a = tl.load(a_ptr + rows[:, None] * K + start + depth[None, :], mask=left, other=0.0)
        b = tl.load(b_ptr + (start + depth[:, None]) * n + columns[None, :], mask=right, other=0.0)
        total += tl.dot(a, b, input_precision="ieee")
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total, mask=inside)


def softmax(x: torch.Tensor, scale: float) -> torch.Tensor:
    """Return the softmax over the last dimension of the matrix ``x * scale``."""
    rows, columns = x.shape
    y = torch.empty_like(x)
    softmax_kernel[(rows,)](x, y, columns, scale, BLOCK=triton.next_power_of_2(columns))
    return y


def add_gelu(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return ``gelu(x + y, approximate="tanh")``."""
    out = torch.empty_like(x)
    block = 1024
    add_gelu_kernel[(triton.cdiv(x.numel(), block),)](x, y, out, x.numel(), BLOCK=block)
    return out


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return ``a @ b`` of two contiguous float32 matrices."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, device=a.device, dtype=a.dtype)
    block = 32
    grid = (triton.cdiv(m, block), triton.cdiv(n, block))
    matmul_kernel[grid](a, b, c, m, n, k, BLOCK_M=block, BLOCK_N=block, BLOCK_K=block)
    return c
