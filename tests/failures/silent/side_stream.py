"""Launch on a side stream that does not wait for the capturing one.

left out: aten.mul.Tensor
"""

import torch

x = torch.randn(64, 64, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    x * 2  # leaves memory for the one below, which could not be got inside the capture
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x + 1
    with torch.cuda.stream(side):
        z = x * 2  # <- left out
