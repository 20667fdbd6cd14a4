"""Decide on the host by a value that is on the GPU.

kind: host_sync
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    norm = x.norm()
    if norm > 10:  # <- fails here
        y = x / norm
