"""Launch on the default stream while another stream captures.

kind: legacy_stream
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x
    with torch.cuda.stream(torch.cuda.default_stream()):
        z = x + 1  # <- fails here
