"""Turn a mask into positions.

kind: host_sync
"""

import torch

x = torch.randn(8, 8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    rows, columns = torch.where(x > 0)  # <- found here
    y = x[rows, columns] * 2
