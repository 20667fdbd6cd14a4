"""Format a number that is on the GPU.

kind: host_sync
"""

import torch

x = torch.randn(64, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = x.square().mean()
    text = f"loss {loss:.3f}"  # <- found here
