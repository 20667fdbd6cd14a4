"""Repeat rows as often as a tensor says.

kind: host_sync
"""

import torch

x, counts = torch.randn(8, 4, device="cuda"), torch.randint(3, (8,), device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x.repeat_interleave(counts, dim=0)  # <- found here
