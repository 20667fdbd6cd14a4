"""Compute on another GPU than the one that captures: it runs at once, and is not in the graph.

left out: aten.add.Tensor
gpus: 2
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
other = torch.randn(64, device="cuda:1")
other + 1
torch.cuda.synchronize(1)
with torch.cuda.graph(graph):
    y = x @ x
    z = other + 1  # <- left out
