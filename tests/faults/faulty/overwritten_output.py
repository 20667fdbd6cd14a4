"""Replay a graph that writes over the output of another one before it is read.

finding: overwritten_outputs
severity: warning
graph: 1
"""

import torch

x = torch.randn(2048, 512, device="cuda")
(torch.softmax(x * 2, -1).relu() + 3) * 2  # warm
torch.cuda.synchronize()

first, second, third = (torch.cuda.CUDAGraph() for _ in range(3))
with torch.cuda.graph(first):
    a = torch.softmax(x * 2, -1)
with torch.cuda.graph(second, pool=first.pool()):
    b = x + 3  # <- node
    e = b * 2
with torch.cuda.graph(third):
    c = b.relu()
    d = c * 2
for graph in (second, first, third):
    graph.replay()
torch.cuda.synchronize()
