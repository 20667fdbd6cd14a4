"""Time a part of the capture with events, on the host.

kind: host_sync
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
start = torch.cuda.Event(enable_timing=True)
end = torch.cuda.Event(enable_timing=True)
with torch.cuda.graph(graph):
    start.record()
    y = x @ x
    end.record()
    print(start.elapsed_time(end))  # <- fails here
