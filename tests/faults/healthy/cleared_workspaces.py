"""Leave cuBLAS's workspaces alone while graphs that use one are replayed."""

import torch

x = torch.randn(64, 16384, device="cuda", dtype=torch.float16)
weight = torch.randn(16384, 64, device="cuda", dtype=torch.float16)
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    (x @ weight).relu()  # warm
torch.cuda.synchronize()

graphs, outputs = [], []
for rows in (64, 32):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        product = x[:rows] @ weight
        outputs.append(product.relu())
    graphs.append(graph)
torch.cuda.synchronize()
for graph in graphs:
    graph.replay()
torch.cuda.synchronize()
