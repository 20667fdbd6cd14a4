"""Make a constant inside the capture: its values come from the host.

kind: pageable_copy
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    scale = torch.tensor([0.5, 2.0], device="cuda")  # <- fails here
    y = x * scale[0]
