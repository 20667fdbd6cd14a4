"""A mixture-of-experts block whose routing never leaves the GPU."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from .protocol import SEED, Workload, from_step

NAME = "moe_block"
DESCRIPTION = "Mixture of experts with top-2 routing into a fixed capacity, no host sync"
EXPERTS_PER_TOKEN = 2


class MixtureOfExperts(nn.Module):
    """Each token goes to two of the experts; what exceeds an expert's capacity is dropped.

    The fixed capacity (GShard, Lepikhin et al. 2020) keeps every shape independent of the
    routing, which is what lets the block be captured.
    """

    def __init__(self, width: int, experts: int, capacity: int) -> None:
        super().__init__()
        self.experts, self.capacity = experts, capacity
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, 4 * width) / width**0.5)
        self.down = nn.Parameter(torch.randn(experts, 4 * width, width) / (4 * width) ** 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (tokens, width) to the same shape."""
        tokens, width = x.shape
        gate, chosen = self.router(x).float().softmax(-1).topk(EXPERTS_PER_TOKEN, dim=-1)
        gate = gate / gate.sum(-1, keepdim=True)
        expert = chosen.flatten()
        # Place of each assignment in its expert's queue, in token order.
        one_hot = F.one_hot(expert, self.experts)
        place = (one_hot.cumsum(0) - 1).gather(1, expert[:, None]).squeeze(1)
        kept = place < self.capacity
        # Dropped assignments are written to a spare last row, so no shape depends on them.
        spare = self.experts * self.capacity
        slot = torch.where(kept, expert * self.capacity + place, spare)
        source = x.repeat_interleave(EXPERTS_PER_TOKEN, dim=0)
        queues = x.new_zeros(spare + 1, width).index_copy(0, slot, source)
        batched = queues[:spare].view(self.experts, self.capacity, width)
        hidden = torch.bmm(F.silu(torch.bmm(batched, self.up)), self.down)
        back = torch.cat((hidden.reshape(spare, width), x.new_zeros(1, width)))[slot]
        weighted = back * (gate.flatten() * kept).to(x.dtype)[:, None]
        return x + weighted.view(tokens, EXPERTS_PER_TOKEN, width).sum(1)


def build(device: str = "cuda", small: bool = False) -> Workload:
    """Build a stack of blocks and a static batch of tokens."""
    torch.manual_seed(SEED)
    tokens, width, experts, layers = (16, 8, 4, 2) if small else (1024, 512, 8, 4)
    # 1.25 times an even share, as usual; a few tokens are dropped at this factor.
    capacity = tokens * EXPERTS_PER_TOKEN * 5 // (4 * experts)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    model = nn.Sequential(*(MixtureOfExperts(width, experts, capacity) for _ in range(layers)))
    model = model.eval().to(device=device, dtype=dtype)
    x = torch.randn(tokens, width, device=device, dtype=dtype)

    @torch.no_grad()
    def step() -> torch.Tensor:
        out: torch.Tensor = model(x)
        return out

    # The spare row is written by several assignments in no fixed order, and never read.
    return from_step(NAME, DESCRIPTION, step, rtol=2e-2, atol=2e-2)
