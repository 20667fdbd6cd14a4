"""Let the default stream wait for the capture.

kind: legacy_stream
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x
    torch.cuda.default_stream().wait_stream(torch.cuda.current_stream())  # <- fails here
    with torch.cuda.stream(torch.cuda.default_stream()):
        z = y + 1
