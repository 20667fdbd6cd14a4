"""Save the generator's state inside the capture, as checkpointing does.

kind: random_generator
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    state = torch.cuda.get_rng_state()  # <- fails here
    y = torch.nn.functional.dropout(x, 0.5)
