"""Invert a matrix: the operator checks for a singular one on the host.

kind: host_sync
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
y = x + 100 * torch.eye(64, device="cuda")
torch.linalg.inv(y)
with torch.cuda.graph(graph):
    inverse = torch.linalg.inv(y)  # <- fails here
