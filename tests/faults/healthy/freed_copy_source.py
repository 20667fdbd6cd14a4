"""Keep the source of a copy beyond the capture."""

import torch


def load(target: torch.Tensor, values: list[torch.Tensor]) -> None:
    target.copy_(values[0])


weights = [torch.randn(1 << 20, device="cuda")]
x = torch.empty(1 << 20, device="cuda")
x.copy_(weights[0]).mul_(2)  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    load(x, weights)
    y = x * 2
graph.replay()
torch.cuda.synchronize()
