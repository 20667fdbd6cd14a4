"""Allocate the cache of keys anew for the next request.

alone: yes
finding: rebound_storage
severity: warning
text: keys
"""

import torch


class Attention(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1024, 512))

    def reset(self) -> None:
        self.keys = torch.zeros(1024, 512, device="cuda")

    def forward(self, queries: torch.Tensor) -> torch.Tensor:
        return torch.softmax(queries @ self.keys.T, -1)  # <- node


attention = Attention().cuda()
queries = torch.randn(256, 512, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    attention(queries)  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = attention(queries)
for _ in range(3):
    attention.reset()
    graph.replay()
torch.cuda.synchronize()
