"""Draw from a generator that the graph does not know.

kind: random_generator
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
generator = torch.Generator(device="cuda").manual_seed(3)
torch.randn(64, device="cuda", generator=generator)
with torch.cuda.graph(graph):
    y = x @ x
    noise = torch.randn(64, 64, device="cuda", generator=generator)  # <- fails here
