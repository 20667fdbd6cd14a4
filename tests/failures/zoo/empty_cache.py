"""Give cached memory back inside the capture.

kind: allocation
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
scratch = torch.empty(1 << 28, device="cuda")
del scratch
with torch.cuda.graph(graph):
    y = x @ x
    torch.cuda.empty_cache()  # <- fails here
    z = y + 1
