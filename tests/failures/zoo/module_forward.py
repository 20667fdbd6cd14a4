"""Synchronise deep inside a model: between two layers of a Sequential.

kind: host_sync
"""

import torch
from torch import nn


class Clip(nn.Module):
    """Clip by the largest value, read on the host."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        limit = float(x.abs().max())  # <- fails here
        return x.clamp(-limit / 2, limit / 2)


model = nn.Sequential(nn.Linear(64, 64), Clip(), nn.Linear(64, 8)).cuda()
x = torch.randn(16, 64, device="cuda")
model(x)
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph), torch.no_grad():
    out = model(x)
