"""Multiply shapes that do not fit.

kind: own_error
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
bias = torch.randn(32, 64, device="cuda")
with torch.cuda.graph(graph):
    y = x @ x
    z = y @ bias  # <- fails here
