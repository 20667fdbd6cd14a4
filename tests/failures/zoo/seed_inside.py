"""Seed the generator inside the capture.

kind: random_generator
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
torch.manual_seed(0)
with torch.cuda.graph(graph):
    torch.manual_seed(1)  # <- fails here
    noise = torch.randn(64, device="cuda")
