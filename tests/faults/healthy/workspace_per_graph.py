"""Let all graphs use the workspace of the first one, in one pool."""

import torch

x = torch.randn(256, 1024, device="cuda")
weight = torch.randn(1024, 1024, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    (x @ weight).relu()  # warm
torch.cuda.synchronize()

pool = torch.cuda.graph_pool_handle()
graphs, outputs = [], []
for rows in (256, 128, 64):
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        outputs.append((x[:rows] @ weight).relu())
    graphs.append(graph)
for graph in graphs:
    graph.replay()
torch.cuda.synchronize()
