"""Capture an optimizer whose step count is on the host.

kind: host_sync
"""

import torch

model = torch.nn.Linear(32, 4).cuda()
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(8, 32, device="cuda")


def step() -> None:
    model(x).sum().backward()
    optimizer.step()  # <- found here


step()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
