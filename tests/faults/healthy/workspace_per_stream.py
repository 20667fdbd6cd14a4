"""Capture all graphs on one stream, with one workspace."""

import torch

x = torch.randn(256, 1024, device="cuda")
weight = torch.randn(1024, 1024, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    (x @ weight).relu()  # warm
torch.cuda.synchronize()

graphs, outputs = [], []
for rows in (256, 128, 64):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        outputs.append((x[:rows] @ weight).relu())
    graphs.append(graph)
for graph in graphs:
    graph.replay()
torch.cuda.synchronize()
