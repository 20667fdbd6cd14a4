"""Drop the pinned tensor that a graph copies from.

finding: host_memory
severity: warning
text: source
node: memcpy
"""

import torch

x = torch.empty(1 << 20, device="cuda")
host = torch.ones(1 << 20, pin_memory=True)
x.copy_(host, non_blocking=True).mul(2)  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x.copy_(host, non_blocking=True)  # <- node
    y = x * 2
graph.replay()
torch.cuda.synchronize()
host = torch.zeros(1 << 20, pin_memory=True)
graph.replay()
torch.cuda.synchronize()
