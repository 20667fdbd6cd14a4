"""Print a tensor, as one does while debugging.

kind: host_sync
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
    print(y)  # <- fails here
