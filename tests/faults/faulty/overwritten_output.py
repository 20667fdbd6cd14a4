"""Read the output of a graph after another graph of its pool has run.

finding: overwritten_outputs
severity: warning
others: allowed
graph: any
"""

import torch

x = torch.randn(2048, 512, device="cuda")
torch.softmax(x * 2, -1)  # warm
x + 3
torch.cuda.synchronize()

first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(first):
    a = torch.softmax(x * 2, -1)
with torch.cuda.graph(second, pool=first.pool()):
    b = x + 3  # <- node
second.replay()
first.replay()
total = b.sum().item()
