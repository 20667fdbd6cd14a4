"""Keep the pinned tensor that a graph copies from."""

import torch

x = torch.empty(1 << 20, device="cuda")
host = torch.ones(1 << 20, pin_memory=True)
x.copy_(host, non_blocking=True).mul(2)  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x.copy_(host, non_blocking=True)
    y = x * 2
graph.replay()
torch.cuda.synchronize()
host.copy_(torch.zeros(1 << 20))
graph.replay()
torch.cuda.synchronize()
