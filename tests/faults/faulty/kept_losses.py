"""Keep the loss of every graph that was captured once and dropped.

finding: pinned_pools
severity: notice
graph: each
"""

import torch

x = torch.randn(1 << 20, device="cuda")
(x * 2).square().mean()  # warm
torch.cuda.synchronize()

losses = []
for _ in range(3):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        hidden = x.expand(8, -1) * 2
        loss = hidden.square().mean()  # <- node
        del hidden
    graph.replay()
    losses.append(loss)
    del graph, loss
torch.cuda.synchronize()
