"""Copy from and to pinned memory without waiting."""

import torch

source, sink = torch.randn(64).pin_memory(), torch.empty(64, pin_memory=True)
x = torch.empty(64, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x.copy_(source[:], non_blocking=True)
    y = x * 2
    sink.copy_(y, non_blocking=True)
    host = y.to("cpu", non_blocking=True)
graph.replay()
torch.cuda.synchronize()
assert sink.is_pinned()
assert not torch.empty(3).is_pinned()
