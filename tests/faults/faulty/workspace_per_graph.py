"""Clear cuBLAS's workspaces before each capture: each graph keeps one in its pool.

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

pool = torch.cuda.graph_pool_handle()
graphs, outputs = [], []
for rows in (256, 128, 64):
    torch._C._cuda_clearCublasWorkspaces()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs.append((x[:rows] @ weight).relu())  # <- node
    graphs.append(graph)
for graph in graphs:
    graph.replay()
torch.cuda.synchronize()
