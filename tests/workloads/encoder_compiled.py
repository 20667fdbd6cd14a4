"""Training of an encoder that torch.compile turns into graphs: forward and backward trees."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from .protocol import SEED, Workload, full_precision

NAME = "encoder_compiled"
DESCRIPTION = "Encoder under torch.compile(mode='reduce-overhead'), trained with SGD"
# The compiler's trees warm up in the first call, record in the second and replay from then on.
STEPS_BEFORE_REPLAY = 2


class Encoder(nn.Module):
    """A stack of two-layer residual MLPs with self-attention, without dropout."""

    def __init__(self, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )
        self.head = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, tokens, width) to (batch, 1)."""
        for layer in self.layers:
            x = layer(x)
        out: torch.Tensor = self.head(x.mean(1))
        return out


def build(device: str = "cuda", small: bool = False) -> Workload:
    """Build the encoder and one batch; compilation happens in the first step of ``run``."""
    torch.manual_seed(SEED)
    width, heads, layers, batch, tokens = (16, 2, 1, 2, 4) if small else (256, 4, 2, 16, 64)
    model = Encoder(width, heads, layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(batch, tokens, width, device=device)
    target = torch.randn(batch, 1, device=device)
    start = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}

    def train(network: nn.Module) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(network(x), target)
        loss.backward()
        optimizer.step()
        return loss.detach().clone()

    def eager() -> torch.Tensor:
        return train(model)

    def run(replays: int) -> torch.Tensor:
        compiled = torch.compile(model, mode="reduce-overhead")
        for _ in range(STEPS_BEFORE_REPLAY + replays):
            torch.compiler.cudagraph_mark_step_begin()
            loss = train(compiled)
        torch.cuda.synchronize()
        return loss

    def check() -> None:
        with full_precision():
            model.load_state_dict(start)
            result = run(3)
            model.load_state_dict(start)
            for _ in range(STEPS_BEFORE_REPLAY + 3):
                expected = eager()
        torch.testing.assert_close(result, expected, rtol=1e-3, atol=1e-4)

    return Workload(NAME, DESCRIPTION, eager, run, check)
