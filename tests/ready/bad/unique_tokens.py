"""Look for the different tokens of a batch.

kind: host_sync
"""

import torch

tokens = torch.randint(100, (4, 16), device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    seen = torch.unique(tokens)  # <- found here
    count = seen.shape[0]
