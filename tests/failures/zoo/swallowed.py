"""Swallow the error of a synchronisation: it surfaces at the end of the capture.

kind: host_sync
"""

import torch

x = torch.randn(64, device="cuda")
x.sum().item()


def log_mean(y: torch.Tensor) -> None:
    try:
        print("mean", y.mean().item())  # <- fails here
    except RuntimeError:
        print("mean not known")


graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
    log_mean(y)
