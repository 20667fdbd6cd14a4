"""Multiply with a weight that was left on the host.

kind: wrong_device
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
weight = torch.randn(64, 64)
with torch.cuda.graph(graph):
    y = x @ weight  # <- fails here
