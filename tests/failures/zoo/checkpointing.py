"""Checkpoint with the state of random generators preserved.

kind: random_generator
"""

import torch
from torch.utils.checkpoint import checkpoint

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()

x.requires_grad_()
with torch.cuda.graph(graph):
    y = checkpoint(torch.nn.functional.dropout, x, use_reentrant=False)  # <- fails here
    y.sum().backward()
