"""Keep the input of a graph beyond its capture."""

import torch

x = torch.randn(2048, 512, device="cuda")
torch.softmax(x, -1) * 2  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.softmax(x, -1)
    kept = x
    z = y * 2
graph.replay()
torch.cuda.synchronize()
