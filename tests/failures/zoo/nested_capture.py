"""Begin a capture inside a capture.

kind: nested_capture
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
inner = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x
    with torch.cuda.graph(inner):  # <- fails here
        z = y + 1
