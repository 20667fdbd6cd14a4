"""One denoising step of a diffusion model: a small UNet and the update of the sample."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from .protocol import SEED, Workload, from_step

NAME = "unet_step"
DESCRIPTION = "One DDIM step: own UNet with timestep embedding, attention, group norm; fp16"
TIMESTEPS = 1000
STRIDE = 20


def embed_timestep(timestep: torch.Tensor, width: int) -> torch.Tensor:
    """Return sines and cosines of `timestep` (batch,) as (batch, width), float32."""
    half = torch.arange(width // 2, device=timestep.device)
    angles = timestep.float()[:, None] * torch.exp(half * (-math.log(10_000.0) * 2 / width))
    return torch.cat((angles.sin(), angles.cos()), dim=1)


class Residual(nn.Module):
    """Two 3x3 convolutions with group norm, moved by the timestep between them."""

    def __init__(self, channels_in: int, channels: int, width_time: int) -> None:
        super().__init__()
        self.norm_first, self.norm_second = nn.GroupNorm(8, channels_in), nn.GroupNorm(8, channels)
        self.first = nn.Conv2d(channels_in, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.time = nn.Linear(width_time, channels)
        self.shortcut = nn.Conv2d(channels_in, channels, 1)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        """Map (batch, channels_in, side, side) to (batch, channels, side, side)."""
        hidden = self.first(F.silu(self.norm_first(x))) + self.time(F.silu(time))[:, :, None, None]
        hidden = self.second(F.silu(self.norm_second(hidden)))
        out: torch.Tensor = hidden + self.shortcut(x)
        return out


class Attention(nn.Module):
    """Self-attention over the pixels of a feature map."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads, self.norm = heads, nn.GroupNorm(8, channels)
        self.qkv, self.out = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, channels, side, side) to the same shape."""
        batch, channels, height, width = x.shape
        split = (batch, self.heads, channels // self.heads, height * width)
        parts = self.qkv(self.norm(x)).chunk(3, dim=1)
        query, key, value = (part.reshape(split).transpose(2, 3) for part in parts)
        mixed = F.scaled_dot_product_attention(query, key, value)
        out: torch.Tensor = x + self.out(mixed.transpose(2, 3).reshape(x.shape))
        return out


class UNet(nn.Module):
    """Three resolutions with skips; attention at the lowest."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        wide, time = 2 * channels, 4 * channels
        self.channels = channels
        self.time = nn.Sequential(nn.Linear(channels, time), nn.SiLU(), nn.Linear(time, time))
        self.stem = nn.Conv2d(4, channels, 3, padding=1)
        self.down_first, self.down_second = (
            Residual(channels, channels, time),
            Residual(channels, wide, time),
        )
        self.middle_first, self.middle_second = (
            Residual(wide, wide, time),
            Residual(wide, wide, time),
        )
        self.attention = Attention(wide, heads=4)
        self.up_second, self.up_first = (
            Residual(2 * wide, channels, time),
            Residual(2 * channels, channels, time),
        )
        self.head = nn.Conv2d(channels, 4, 3, padding=1)

    def forward(self, x: torch.Tensor, timestep: torch.Tensor) -> torch.Tensor:
        """Predict the noise in `x` (batch, 4, side, side) at `timestep` (batch,)."""
        time = self.time(embed_timestep(timestep, self.channels).to(x.dtype))
        high = self.down_first(self.stem(x), time)
        low = self.down_second(F.avg_pool2d(high, 2), time)
        middle = self.attention(self.middle_first(F.avg_pool2d(low, 2), time))
        middle = F.interpolate(self.middle_second(middle, time), scale_factor=2.0)
        up = self.up_second(torch.cat((middle, low), dim=1), time)
        up = F.interpolate(up, scale_factor=2.0)
        out: torch.Tensor = self.head(self.up_first(torch.cat((up, high), dim=1), time))
        return out


def build(device: str = "cuda", small: bool = False) -> Workload:
    """Build the UNet, a noisy sample and the noise schedule; the step denoises in place."""
    torch.manual_seed(SEED)
    channels, side, batch = (16, 8, 1) if small else (128, 64, 2)
    dtype = torch.float16 if device == "cuda" else torch.float32
    model = UNet(channels).eval().to(device=device, dtype=dtype)
    betas = torch.linspace(1e-4, 0.02, TIMESTEPS, device=device)
    signal = torch.cumprod(1 - betas, dim=0)
    sample = torch.randn(batch, 4, side, side, device=device, dtype=dtype)
    timestep = torch.full((batch,), TIMESTEPS - 1, device=device)

    @torch.no_grad()
    def step() -> torch.Tensor:
        noise = model(sample, timestep).float()
        # Clamped on the device: the last step, and any replay after it, stays at timestep 0.
        before = (timestep - STRIDE).clamp(min=0)
        now, target = (signal[index].view(-1, 1, 1, 1) for index in (timestep, before))
        clean = (sample.float() - (1 - now).sqrt() * noise) / now.sqrt()
        clean = clean.clamp(-1, 1)
        sample.copy_(target.sqrt() * clean + (1 - target).sqrt() * noise)
        timestep.copy_(before)
        return noise

    def state() -> list[torch.Tensor]:
        return [sample, timestep]

    return from_step(NAME, DESCRIPTION, step, state, rtol=1e-2, atol=1e-2)
