"""Clear cuBLAS's workspaces while graphs that use one are replayed.

alone: yes
finding: shared_workspaces
severity: notice
graph: each
"""

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
        product = x[:rows] @ weight  # <- node
        outputs.append(product.relu())
    graphs.append(graph)
torch._C._cuda_clearCublasWorkspaces()  # <- told
for graph in graphs:
    graph.replay()
torch.cuda.synchronize()
