"""Launch on the default stream inside a capture: it runs at once, and is not in the graph.

left out: aten.add.Tensor
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x
    with torch.cuda.stream(torch.cuda.default_stream()):
        z = x + 1  # <- left out
