"""Work that the reader of pointers was never fitted to: what the ten workloads do not do.

Layouts of structures were learned from the ten workloads. How well others are read is measured on
these, which nothing is fitted to: a layout that is learned here makes a new one necessary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.protocol import SEED, Workload, from_step


def convolutions(device: str = "cuda", small: bool = False) -> Workload:
    """Build a training step of many kinds of convolutions in half precision, and of recurrence."""
    torch.manual_seed(SEED)
    width, side, batch = (8, 8, 2) if small else (64, 32, 8)
    dtype = torch.float32 if device == "cpu" else torch.float16
    flat = nn.Sequential(
        nn.Conv2d(3, width, 7, stride=2, padding=3),
        nn.BatchNorm2d(width),
        nn.Hardswish(),
        nn.Conv2d(width, width, 3, padding=1, groups=width),
        nn.Conv2d(width, 2 * width, 1),
        nn.InstanceNorm2d(2 * width, affine=True),
        nn.Conv2d(2 * width, 2 * width, 3, padding=2, dilation=2, groups=4),
        nn.MaxPool2d(2),
        nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1),
        nn.PixelShuffle(2),
    )
    last: Any = {"memory_format": torch.channels_last}
    flat = flat.to(device=device, dtype=dtype).to(**last)
    deep = nn.Sequential(
        nn.Conv3d(2, width, 3, padding=1), nn.BatchNorm3d(width), nn.Conv3d(width, 2, 1)
    ).to(device)
    line = nn.Conv1d(width, width, 5, padding=2).to(device)
    recurrent = nn.LSTM(width, width, num_layers=2, batch_first=True, bidirectional=True).to(device)
    gated = nn.GRU(2 * width, width, batch_first=True).to(device)
    parts = nn.ModuleList((flat, deep, line, recurrent, gated))
    optimizer = torch.optim.RMSprop(
        parts.parameters(), lr=1e-5, foreach=True, capturable=device != "cpu"
    )
    image = torch.randn(batch, 3, side, side, device=device, dtype=dtype)
    image = image.to(memory_format=torch.channels_last)
    volume = torch.randn(batch, 2, side // 4, side // 4, side // 4, device=device)
    sequence = torch.randn(batch, width, side, device=device)

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=False)
        steps = line(sequence).transpose(1, 2)
        loss: torch.Tensor = flat(image).float().square().mean() + deep(volume).abs().mean()
        loss = loss + gated(recurrent(steps)[0])[0].mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss.detach()

    return from_step("held_out_convolutions", "", step)


def operators(device: str = "cuda", small: bool = False) -> Workload:
    """Build a step of operators of many kinds, forward and backward."""
    torch.manual_seed(SEED)
    rows, width = (8, 16) if small else (256, 512)
    x = torch.randn(rows, width, device=device, requires_grad=True)
    weight = torch.randn(width, width, device=device, requires_grad=True)
    image = torch.randn(4, 8, 32, 32, device=device, requires_grad=True)
    table = torch.randn(1000, width, device=device, requires_grad=True)
    index = torch.randint(0, rows, (rows,), device=device)
    words = torch.randint(0, 1000, (rows, 4), device=device)
    grid = torch.rand(4, 16, 16, 2, device=device) * 2 - 1
    leaves = (x, weight, image, table)

    parts: tuple[Callable[[], torch.Tensor], ...] = (
        lambda: torch.cumsum(x, 1).logsumexp(1),
        lambda: torch.sort(x, 1).values.diff(dim=1),
        lambda: torch.zeros_like(x).scatter_add(0, index[:, None].expand_as(x), x),
        lambda: x.index_select(0, index) * x[index],
        lambda: torch.zeros_like(x).index_add(0, index, x),
        lambda: torch.take(x, index) + x.index_fill(1, index[:3] % width, 0.5).sum(1),
        lambda: torch.gather(x, 1, (index[:, None] % width).expand(rows, 4)),
        lambda: F.embedding(words, table).mean(1),
        lambda: F.embedding_bag(words, table.detach(), mode="sum"),
        lambda: torch.stack([x[:, :8], x[:, 8:16], x.roll(1, 1)[:, :8]]).amax(0),
        lambda: torch.var_mean(x, dim=0)[0] + x.norm(dim=0) + x.detach().prod(0),
        lambda: F.grid_sample(image, grid, align_corners=False),
        lambda: F.interpolate(image, scale_factor=2, mode="bilinear"),
        lambda: F.interpolate(image, size=20, mode="bicubic"),
        lambda: F.unfold(image, 3, padding=1),
        lambda: F.group_norm(image, 4) + F.adaptive_avg_pool2d(image, 1),
        lambda: F.cross_entropy(x, index % width, label_smoothing=0.1),
        lambda: F.dropout(F.glu(x), 0.2) + torch.randn(width // 2, device=device),
        lambda: torch.einsum("rw,wv,rv->r", x, weight, x),
        lambda: torch.baddbmm(image[:, 0], image[:, 1], image[:, 2], beta=0.5),
        lambda: torch.addmv(x[:, 0], x, weight[0]) + x @ weight[1],
        lambda: torch.cdist(x[:16], x[16:64] if not small else x),
        lambda: torch.where(x > 0, x, 0.1 * x).tril().roll(3, 0).masked_fill(x > 1, 0.0),
        lambda: F.kl_div(F.log_softmax(x, 1), F.softmax(x.detach(), 1), reduction="sum"),
        lambda: F.smooth_l1_loss(x, x.detach().roll(1, 0)) + torch.topk(x, 5, 1).values.sum(),
        lambda: torch.bernoulli(torch.sigmoid(x)) * x.median(1, keepdim=True).values,
        lambda: F.avg_pool2d(image, 3, 1, 1) + F.max_pool2d(image, 3, 1, 1),
        lambda: x.half().float() + x.double().float() + x.to(torch.bfloat16).float(),
    )

    def step() -> torch.Tensor:
        with torch.no_grad():
            for leaf in leaves:
                if leaf.grad is not None:
                    leaf.grad.zero_()
        loss = torch.zeros((), device=device)
        for part in parts:
            loss = loss + part().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            torch._foreach_mul_([leaf.grad for leaf in leaves if leaf.grad is not None], 0.5)
        return loss.detach()

    return from_step("held_out_operators", "", step)


HELD_OUT: dict[str, Callable[..., Workload]] = {
    "held_out_convolutions": convolutions,
    "held_out_operators": operators,
}
