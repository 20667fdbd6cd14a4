"""Compile a function for the first time inside the capture.

kind: lazy_load
"""

import torch


@torch.compile
def block(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x).square().sum(dim=1)


x = torch.randn(64, 64, device="cuda")
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = block(x)  # <- fails here
