"""Read a loss on the host while it is captured.

kind: host_sync
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x
    loss = y.square().mean()
    print("loss", loss.item())  # <- fails here
    z = y + 1
