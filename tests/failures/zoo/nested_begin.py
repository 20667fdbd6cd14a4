"""Begin a second graph on the stream that captures the first.

kind: nested_capture
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
inner = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x
    inner.capture_begin()  # <- fails here
    z = y + 1
    inner.capture_end()
