"""Launch on a stream that does not take part in the capture.

kind: other_stream
"""

import torch

x = torch.randn(64, device="cuda")
side = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x + 1
    with torch.cuda.stream(side):
        z = x * 2  # <- found here
