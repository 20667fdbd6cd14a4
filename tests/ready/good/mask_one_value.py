"""Write one value through a mask: that needs no shape."""

import torch

x = torch.randn(8, 8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x[x > 0] = 0.0
    y = x.masked_fill(x < -1, -1.0)
    z = torch.where(x > 0, x, 0.0)
