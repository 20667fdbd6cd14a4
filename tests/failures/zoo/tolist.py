"""Turn a tensor into a list inside the capture.

kind: host_sync
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    lengths = (x > 0).sum(dim=1)
    sizes = lengths.tolist()  # <- fails here
