"""Capture all operators in one graph."""

import torch

x = torch.randn(1 << 20, device="cuda")
operators = [torch.sin, torch.cos, torch.relu]
for operator in operators:
    operator(x)  # warm
torch.cuda.synchronize()

graphs, outputs = [], []
for chosen in [operators]:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for operator in chosen:
            outputs.append(operator(x))
    graphs.append(graph)
for graph in graphs:
    graph.replay()
torch.cuda.synchronize()
