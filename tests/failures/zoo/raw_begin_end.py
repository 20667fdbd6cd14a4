"""Leave between capture_begin and capture_end by an exception: the end is never called.

kind: host_sync
"""

import torch

x = torch.randn(64, device="cuda")
x.sum().item()
stream = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
torch.cuda.synchronize()
with torch.cuda.stream(stream):
    graph.capture_begin()
    y = x + 1
    total = float(y.sum())  # <- fails here
    graph.capture_end()
