"""Wait for an event that was recorded in the capture.

kind: host_sync
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x
    done = torch.cuda.Event()
    done.record()
    done.synchronize()  # <- fails here
