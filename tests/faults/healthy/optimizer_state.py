"""Copy a saved state into the optimizer's own tensors."""

import copy
from typing import Any

import torch

weight = torch.nn.Parameter(torch.randn(1024, 1024, device="cuda"))
weight.grad = torch.randn_like(weight)
optimizer = torch.optim.Adam([weight], capturable=True)


def restore(saved: dict[str, Any]) -> None:
    for key, value in saved["state"][0].items():
        optimizer.state[weight][key].copy_(value)


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    optimizer.step()  # warm
torch.cuda.current_stream().wait_stream(side)
saved = copy.deepcopy(optimizer.state_dict())
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    optimizer.step()
graph.replay()
torch.cuda.synchronize()
restore(saved)
graph.replay()
torch.cuda.synchronize()
