"""Hand over a pool that belongs to no graph.

kind: mismatched_end
"""

import torch

x = torch.randn(64, 64, device="cuda")
x + 1
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, pool=(0, 0)):  # <- fails here
    y = x + 1
