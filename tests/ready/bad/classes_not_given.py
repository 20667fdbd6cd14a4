"""Let one_hot look for the largest class.

kind: host_sync
"""

import torch
from torch.nn import functional as F

labels = torch.randint(10, (8,), device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = F.one_hot(labels)  # <- found here
