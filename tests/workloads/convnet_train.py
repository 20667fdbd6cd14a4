"""A training step of a residual convolutional network with batch norm and SGD."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from .protocol import SEED, Workload, from_step

NAME = "convnet_train"
DESCRIPTION = "Training step of a residual convnet: cuDNN, batch norm, SGD with momentum"


class Residual(nn.Module):
    """Two 3x3 convolutions with batch norm beside a 1x1 shortcut; halves the resolution."""

    def __init__(self, channels_in: int, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels_in, channels, 3, stride=2, padding=1, bias=False)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.shortcut = nn.Conv2d(channels_in, channels, 1, stride=2, bias=False)
        self.norm_first, self.norm_second = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, channels_in, side, side) to (batch, channels, side / 2, side / 2)."""
        hidden = F.relu(self.norm_first(self.first(x)))
        return F.relu(self.norm_second(self.second(hidden)) + self.shortcut(x))


def build(device: str = "cuda", small: bool = False) -> Workload:
    """Build the network, its optimizer and one static batch of images."""
    torch.manual_seed(SEED)
    channels, side, batch, classes = (
        ((8, 16), 16, 4, 10) if small else ((64, 128, 256), 64, 32, 100)
    )
    widths = (3, *channels)
    model = nn.Sequential(
        *(Residual(before, after) for before, after in zip(widths, channels, strict=False)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(channels[-1], classes),
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(batch, 3, side, side, device=device)
    labels = torch.randint(classes, (batch,), device=device)

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def state() -> list[torch.Tensor]:
        momentum = [optimizer.state[p]["momentum_buffer"] for p in model.parameters()]
        return [*model.parameters(), *model.buffers(), *momentum]

    return from_step(NAME, DESCRIPTION, step, state, rtol=1e-2, atol=1e-3)
