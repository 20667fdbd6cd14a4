"""Synchronise in a hook that autograd calls in the backward pass.

kind: host_sync
"""

import torch

weight = torch.randn(64, 64, device="cuda", requires_grad=True)
x = torch.randn(64, 64, device="cuda")
norms = []


def note(gradient: torch.Tensor) -> None:
    norms.append(gradient.norm().item())  # <- fails here


hooked = (x @ weight).relu()
hooked.register_hook(note)
hooked.sum().backward()
weight.grad = None
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    hooked = (x @ weight).relu()
    hooked.register_hook(note)
    hooked.sum().backward()
