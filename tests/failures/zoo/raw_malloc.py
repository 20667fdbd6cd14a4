"""Allocate with cudaMalloc itself, which waits for the device.

kind: allocation
"""

import torch
from cuda.bindings import runtime

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()

with torch.cuda.graph(graph):
    y = x @ x
    torch.cuda.check_error(int(runtime.cudaMalloc(1 << 20)[0]))  # <- fails here
