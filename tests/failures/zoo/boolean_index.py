"""Index with a mask: the shape of the result depends on the data.

kind: host_sync
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
x[x > 0.5]
with torch.cuda.graph(graph):
    y = torch.relu(x)
    chosen = y[y > 0.5]  # <- fails here
