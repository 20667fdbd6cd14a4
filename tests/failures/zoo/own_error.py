"""Raise an error of one's own inside the capture.

kind: own_error
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x
    if y.shape[0] != 128:
        raise ValueError(f"expected 128 rows, got {y.shape[0]}")  # <- fails here
