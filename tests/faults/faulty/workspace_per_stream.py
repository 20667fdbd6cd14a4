"""Capture each graph on a stream of its own: each has cuBLAS's workspace once more.

alone: yes
finding: identical_workspaces
severity: notice
graph: each
"""

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
    with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        outputs.append((x[:rows] @ weight).relu())  # <- node
    graphs.append(graph)
for graph in graphs:
    graph.replay()
torch.cuda.synchronize()
