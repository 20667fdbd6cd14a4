"""Graphs that torch.compile makes by itself: ``mode="reduce-overhead"``, forward and backward.

The script has no capture in it. The compiler warms up in the first step, records a graph of the
forward and one of the backward pass in the second, and replays both from the third on.
"""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn import functional as F

LAYERS, WIDTH, HEADS, TOKENS, BATCH = 2, 256, 4, 64, 16
STEPS = 50


class Encoder(nn.Module):
    """Two transformer encoder layers and a linear head on the mean over the tokens."""

    def __init__(self) -> None:
        super().__init__()
        options = {"dropout": 0.0, "batch_first": True, "norm_first": True}
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, **options) for _ in range(LAYERS)
        )
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, tokens, width) to (batch, 1)."""
        for layer in self.layers:
            x = layer(x)
        out: torch.Tensor = self.head(x.mean(1))
        return out


def train(model: nn.Module, parameters: list[nn.Parameter], batches: torch.Tensor) -> float:
    """Take one step of SGD per batch and return the last loss."""
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    for batch in batches:
        # Results of the step before may be overwritten from here on.
        torch.compiler.cudagraph_mark_step_begin()
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(batch), batch.mean((1, 2))[:, None])
        loss.backward()
        optimizer.step()
    return loss.item()


def main() -> None:
    """Train the compiled encoder and its eager twin on the same batches; compare the losses."""
    torch.manual_seed(0)
    encoder = Encoder().cuda()
    twin = copy.deepcopy(encoder)
    batches = torch.randn(STEPS, BATCH, TOKENS, WIDTH, device="cuda")
    compiled = torch.compile(encoder, mode="reduce-overhead")
    loss = train(compiled, list(encoder.parameters()), batches)
    expected = train(twin, list(twin.parameters()), batches)
    assert abs(loss - expected) <= 1e-2 * abs(expected) + 1e-3, (loss, expected)
    print(f"compiled: {STEPS} steps, last loss {loss:.5f}, eager {expected:.5f}")


if __name__ == "__main__":
    main()
