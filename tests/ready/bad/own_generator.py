"""Draw from a generator that the graph does not know.

kind: random_generator
"""

import torch

generator = torch.Generator(device="cuda")
x = torch.empty(64, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x.normal_(generator=generator)  # <- found here
