"""A function that the compiler makes graphs of: it is split where it waits.

kind: host_sync
"""

import torch


@torch.compile(mode="reduce-overhead")
def scaled(x: torch.Tensor) -> torch.Tensor:
    y = torch.relu(x)
    return y / y.max().item()  # <- found here


x = torch.randn(8, 8, device="cuda")
for _ in range(3):
    scaled(x)
