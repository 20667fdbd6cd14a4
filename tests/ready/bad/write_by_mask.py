"""Write several values through a mask.

kind: host_sync
"""

import torch

x, y = torch.randn(8, 8, device="cuda"), torch.randn(64, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x[x > 0] = y  # <- found here
