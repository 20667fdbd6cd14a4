"""Hand-written Triton kernels on two parallel streams: attention scores beside an MLP."""

from __future__ import annotations

import os

import torch
from torch.nn import functional as F

from .protocol import SEED, Workload, from_step

NAME = "triton_fused"
DESCRIPTION = "Own Triton kernels (fused softmax, add + GELU, matmul) on two parallel streams"


def build(device: str = "cuda", small: bool = False) -> Workload:
    """Build the operands of both branches.

    On the CPU the same expressions are computed by torch, since Triton compiles for GPUs only;
    with ``TRITON_INTERPRET=1`` the kernels themselves run there, in Triton's interpreter.

    Raises
    ------
    ModuleNotFoundError
        If the kernels are to run and Triton is not installed.
    """
    torch.manual_seed(SEED)
    size, columns, layers = (48, 40, 1) if small else (512, 500, 4)
    scale = columns**-0.5
    on_gpu = device == "cuda"
    query, key = (torch.randn(size, columns, device=device) for _ in range(2))
    transposed = key.t().contiguous()
    values, x = (torch.randn(size, columns, device=device) for _ in range(2))
    weights = [torch.randn(columns, columns, device=device) * scale for _ in range(layers)]
    side = torch.cuda.Stream() if on_gpu else None
    with_kernels = on_gpu or os.environ.get("TRITON_INTERPRET") == "1"

    def reference() -> torch.Tensor:
        attended = torch.softmax(query @ transposed * scale, dim=-1) @ values
        hidden = x
        for weight in weights:
            hidden = F.gelu(hidden @ weight + x, approximate="tanh")
        return F.gelu(attended + hidden, approximate="tanh")

    if not with_kernels:
        return from_step(NAME, DESCRIPTION, reference)

    from . import triton_kernels as kernels

    def attend() -> torch.Tensor:
        scores = kernels.matmul(query, transposed)
        return kernels.matmul(kernels.softmax(scores, scale), values)

    def feed_forward() -> torch.Tensor:
        hidden = x
        for weight in weights:
            hidden = kernels.add_gelu(kernels.matmul(hidden, weight), x)
        return hidden

    def step() -> torch.Tensor:
        if side is None:
            return kernels.add_gelu(attend(), feed_forward())
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            attended = attend()
        hidden = feed_forward()
        main.wait_stream(side)
        return kernels.add_gelu(attended, hidden)

    workload = from_step(NAME, DESCRIPTION, step)

    def check() -> None:
        workload.check()
        torch.testing.assert_close(step(), reference(), rtol=1e-3, atol=1e-3)

    return Workload(NAME, DESCRIPTION, step, workload.run, check)
