"""Load an optimizer's state after its step was captured.

finding: freed_later
severity: warning
text: exp_avg
"""

import copy
from typing import Any

import torch

weight = torch.nn.Parameter(torch.randn(1024, 1024, device="cuda"))
weight.grad = torch.randn_like(weight)
optimizer = torch.optim.Adam([weight], capturable=True)


def restore(saved: dict[str, Any]) -> None:
    optimizer.load_state_dict(saved)  # <- told
    weight.grad.zero_()


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    optimizer.step()  # warm
torch.cuda.current_stream().wait_stream(side)
saved = copy.deepcopy(optimizer.state_dict())
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    optimizer.step()  # <- node
graph.replay()
torch.cuda.synchronize()
restore(saved)
graph.replay()
torch.cuda.synchronize()
