"""Copy from pinned memory and wait for it.

kind: host_sync
"""

import torch

host = torch.randn(64, 64).pin_memory()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x = host.to("cuda")  # <- found here
    y = x + 1
