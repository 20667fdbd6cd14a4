"""Multiply for the first time inside the capture: cuBLAS makes its handle there.

kind: lazy_load
"""

import torch

x = torch.randn(64, 64, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x  # <- fails here
