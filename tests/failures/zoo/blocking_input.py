"""Copy an input from the host inside the capture, and wait for it.

kind: pageable_copy
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
host = torch.randn(64, 64)
static = torch.empty(64, 64, device="cuda")
with torch.cuda.graph(graph):
    static.copy_(host)  # <- fails here
    y = x @ static
