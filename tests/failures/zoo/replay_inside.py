"""Replay a graph inside the capture of another.

kind: nested_capture
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
inner = torch.cuda.CUDAGraph()
with torch.cuda.graph(inner):
    noise = torch.randn(64, device="cuda")
with torch.cuda.graph(graph):
    y = x @ x
    inner.replay()  # <- fails here
    z = y + 1
