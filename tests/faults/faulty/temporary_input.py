"""Capture a function of a converted input that nobody keeps.

finding: freed_later
severity: warning
"""

import torch


def capture(batch: torch.Tensor) -> tuple[torch.cuda.CUDAGraph, torch.Tensor]:
    torch.softmax(batch, -1) * 2  # warm
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        shares = torch.softmax(batch, -1)  # <- node
        result = shares * 2
    return graph, result


tokens = torch.randint(0, 9, (2048, 512), device="cuda")
graph, y = capture(tokens.float())  # <- told
graph.replay()
torch.cuda.synchronize()
