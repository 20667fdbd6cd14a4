"""Capture while all work goes to another stream: the graph is empty.

left out: aten.mul.Tensor
"""

import torch

x = torch.randn(64, 64, device="cuda")
x * 2
side = torch.cuda.Stream()
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, capture_error_mode="relaxed"), torch.cuda.stream(side):
    z = x * 2  # <- left out
graph.replay()
