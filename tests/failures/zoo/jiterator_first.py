"""Launch an operator that torch compiles at its first call.

kind: lazy_load
"""

import torch

x = torch.rand(64, 64, device="cuda")
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.special.airy_ai(x)  # <- fails here
