"""Launch on a side stream that does not wait for the capturing one.

left out: aten.mul.Tensor
"""

import torch

x = torch.randn(64, 64, device="cuda")
x * 2
side = torch.cuda.Stream()
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x + 1
    with torch.cuda.stream(side):
        z = x * 2  # <- left out
