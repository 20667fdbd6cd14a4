"""Leave the script inside the capture.

kind: own_error
"""

import sys

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()

with torch.cuda.graph(graph):
    y = x @ x
    sys.exit(7)  # <- fails here
