"""Index with a list: it is copied to the GPU each time.

kind: pageable_copy
"""

import torch

x = torch.randn(8, 8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x[[0, 2, 4]]  # <- found here
