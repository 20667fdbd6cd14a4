"""Draw a number on the GPU in the graph."""

import random

import torch

random.seed(3)
torch.manual_seed(3)
x = torch.randn(1 << 20, device="cuda")
(x * torch.rand((), device="cuda")).relu()  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    scale = torch.rand((), device="cuda")
    y = x * scale
    z = y.relu()
for _ in range(3):
    graph.replay()
torch.cuda.synchronize()
