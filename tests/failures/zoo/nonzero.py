"""Ask for positions: how many there are is known on the GPU alone.

kind: host_sync
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
(x > 0).nonzero()
with torch.cuda.graph(graph):
    mask = x > 0
    positions = mask.nonzero()  # <- fails here
