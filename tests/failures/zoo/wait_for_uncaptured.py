"""Wait for work of a stream that does not take part in the capture.

kind: other_stream
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    prefetched = x * 2
with torch.cuda.graph(graph):
    y = x @ x
    torch.cuda.current_stream().wait_stream(side)  # <- fails here
    z = y + prefetched
