"""Decompose a matrix: the solver's status is read on the host.

kind: host_sync
"""

import torch

x = torch.randn(8, 8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    values, vectors = torch.linalg.eigh(x @ x.T)  # <- found here
