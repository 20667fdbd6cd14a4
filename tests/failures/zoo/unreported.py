"""Call CUDA's own API without looking at its answer: the next launch is the first to hear of it.

kind: unreported
"""

import torch
from cuda.bindings import driver

x = torch.randn(64, 64, device="cuda")
x + 1
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x + 1
    driver.cuMemAlloc(1 << 20)  # refused, which nobody sees
    z = y + 1  # <- fails here
