"""Synchronise inside a module that make_graphed_callables captures.

kind: host_sync
"""

import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        scale = y.detach().abs().mean().item()  # <- fails here
        return y / scale


model = Scaled().cuda()
sample = torch.randn(8, 32, device="cuda", requires_grad=True)
torch.cuda.make_graphed_callables(model, (sample,))
