"""Capture each operator in a graph of its own.

finding: one_node_graphs
severity: notice
graph: each
"""

import torch

x = torch.randn(1 << 20, device="cuda")
operators = [torch.sin, torch.cos, torch.relu]
for operator in operators:
    operator(x)  # warm
torch.cuda.synchronize()

graphs, outputs = [], []
for chosen in [[operator] for operator in operators]:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for operator in chosen:
            outputs.append(operator(x))  # <- node
    graphs.append(graph)
for graph in graphs:
    graph.replay()
torch.cuda.synchronize()
