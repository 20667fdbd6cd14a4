"""Look at a gradient in the backward of an autograd function.

kind: host_sync
"""

import torch
from torch.autograd.function import FunctionCtx


class Watched(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> torch.Tensor:
        if gradient.abs().max() > 1e3:  # <- found here
            gradient = gradient.clamp(-1e3, 1e3)
        return gradient * 2


x = torch.randn(8, device="cuda", requires_grad=True)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    Watched.apply(x).sum().backward()
