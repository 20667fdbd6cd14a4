"""Wait for an event that was recorded before the capture began.

kind: other_stream
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
ready = torch.cuda.Event()
ready.record()
with torch.cuda.graph(graph):
    ready.wait()  # <- fails here
    y = x + 1
