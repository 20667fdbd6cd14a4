"""Iterate until an error is small: the loop has to end without data too.

kind: host_sync
"""

import torch

x = torch.rand(64, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    error = x.sum()
    while error.item() > 1e-6:  # <- found here
        x = x / 2
        error = x.sum()
