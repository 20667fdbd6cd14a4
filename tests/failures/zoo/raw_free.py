"""Free with cudaFree while a capture goes on.

kind: allocation
"""

import torch
from cuda.bindings import runtime

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()

_, scratch = runtime.cudaMalloc(1 << 20)
with torch.cuda.graph(graph):
    y = x @ x
    torch.cuda.check_error(int(runtime.cudaFree(scratch)[0]))  # <- fails here
