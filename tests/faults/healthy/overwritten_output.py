"""Give the graphs pools of their own."""

import torch

x = torch.randn(2048, 512, device="cuda")
(torch.softmax(x * 2, -1).relu() + 3) * 2  # warm
torch.cuda.synchronize()

first, second, third = (torch.cuda.CUDAGraph() for _ in range(3))
with torch.cuda.graph(first):
    a = torch.softmax(x * 2, -1)
with torch.cuda.graph(second):
    b = x + 3
    e = b * 2
with torch.cuda.graph(third):
    c = b.relu()
    d = c * 2
for graph in (second, first, third):
    graph.replay()
torch.cuda.synchronize()
