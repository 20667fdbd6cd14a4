"""Free the source of a copy before the capture has ended.

finding: stale_pointers
severity: warning
node: memcpy
text: source
"""

import torch


def load(target: torch.Tensor, values: list[torch.Tensor]) -> None:
    target.copy_(values.pop())  # <- node  # <- told


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
