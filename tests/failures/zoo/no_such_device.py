"""Ask for a GPU that is not there.

kind: wrong_device
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x
    z = torch.empty(64, device="cuda:31")  # <- fails here
