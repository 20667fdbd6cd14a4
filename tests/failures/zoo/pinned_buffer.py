"""Make a pinned buffer inside the capture.

kind: allocation
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x
    host = torch.empty(1 << 22, pin_memory=True)  # <- fails here
    host.copy_(y.flatten()[0], non_blocking=True)
