"""Multiply by a Python number that changes from step to step.

finding: baked_scalars
severity: notice
graph: any
"""

import torch

x = torch.randn(1 << 20, device="cuda")
scale = torch.ones((), device="cuda")
(x * scale * 0.25).relu()  # warm
torch.cuda.synchronize()

graphs, outputs = [], []
for step in (1, 2):
    factor = 0.25 * step
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * factor  # <- node
        outputs.append(y.relu())
    graphs.append(graph)
    graph.replay()
torch.cuda.synchronize()
