"""Write a number to one place: torch copies it from the host.

kind: pageable_copy
"""

import torch

x = torch.randn(8, 8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x[0, 0] = 1.0  # <- found here
