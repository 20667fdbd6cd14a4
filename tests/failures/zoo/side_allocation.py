"""Compute on a side stream that is not part of the capture, and need memory for the result.

kind: other_stream
"""

import torch

x = torch.randn(1 << 26, device="cuda")
y = x + 1
side = torch.cuda.Stream()
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y.add_(1)
    with torch.cuda.stream(side):
        z = x * 2  # <- fails here
