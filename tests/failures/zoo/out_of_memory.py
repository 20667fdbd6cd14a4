"""Ask for more memory than there is.

kind: out_of_memory
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x
    huge = torch.empty(1 << 45, device="cuda")  # <- fails here
