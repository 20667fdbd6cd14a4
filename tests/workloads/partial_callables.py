"""make_graphed_callables on the parts of a network around one that cannot be captured."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn import functional as F

from .protocol import SEED, Workload, full_precision

NAME = "partial_callables"
DESCRIPTION = "Trunk and head graphed with make_graphed_callables, a data-dependent part between"


def mlp(width: int, layers: int) -> nn.Sequential:
    """Return `layers` pairs of linear and GELU."""
    pairs = [(nn.Linear(width, width), nn.GELU()) for _ in range(layers)]
    return nn.Sequential(*(module for pair in pairs for module in pair))


class Network(nn.Module):
    """Trunk, a gate that looks at values on the host, and a head."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.trunk: nn.Module = mlp(width, layers)
        self.middle = nn.Linear(width, width)
        self.head: nn.Module = mlp(width, layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, width) to the same shape."""
        hidden: torch.Tensor = self.trunk(x)
        # The number of rows depends on values: this is what keeps the whole out of one graph.
        rows = (hidden.detach().mean(1) > hidden.detach().mean()).nonzero().squeeze(1)
        hidden = hidden.index_add(0, rows, self.middle(hidden[rows]))
        out: torch.Tensor = self.head(hidden)
        return out


def build(device: str = "cuda", small: bool = False) -> Workload:
    """Build the network and one batch; ``run`` graphs a copy, so ``eager`` stays without."""
    torch.manual_seed(SEED)
    width, layers, batch = (16, 1, 4) if small else (1024, 4, 64)
    network = Network(width, layers).to(device)
    x = torch.randn(batch, width, device=device)
    target = torch.randn(batch, width, device=device)

    def train(model: nn.Module, optimizer: torch.optim.Optimizer) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(x), target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    eager_optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
    start = copy.deepcopy(network)

    def eager() -> torch.Tensor:
        return train(network, eager_optimizer)

    def run(replays: int) -> torch.Tensor:
        model = copy.deepcopy(start)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        # The head's input comes from the network, so its sample has to ask for a gradient too.
        samples = (torch.randn_like(x),), (torch.randn_like(x).requires_grad_(),)
        model.trunk, model.head = torch.cuda.make_graphed_callables(
            (model.trunk, model.head), samples
        )
        for _ in range(replays):
            loss = train(model, optimizer)
        torch.cuda.synchronize()
        return loss

    def check() -> None:
        with full_precision():
            network.load_state_dict(start.state_dict())
            for _ in range(3):
                expected = eager()
            torch.testing.assert_close(run(3), expected, rtol=1e-3, atol=1e-4)

    return Workload(NAME, DESCRIPTION, eager, run, check)
