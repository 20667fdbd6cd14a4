"""A model that does not fit into any machine's memory."""

import torch

layers = torch.nn.ModuleList(
    torch.nn.Linear(1 << 16, 1 << 16, bias=False, dtype=torch.float16) for _ in range(16)
).cuda()
x = torch.randn(1, 1 << 16, device="cuda", dtype=torch.float16)
assert sum(parameter.numel() for parameter in layers.parameters()) > 68_000_000_000


def workload() -> torch.Tensor:
    y = x
    for layer in layers:
        y = layer(y)
    return y
