"""Capture into a graph object that holds a graph already.

kind: graph_object
"""

import torch

x = torch.randn(64, 64, device="cuda")
x + 1
graph = torch.cuda.CUDAGraph()
for size in (64, 32):
    with torch.cuda.graph(graph):  # <- fails here
        y = x[:size] + 1
