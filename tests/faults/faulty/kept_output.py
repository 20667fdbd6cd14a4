"""Keep the output of a graph that is gone: its whole pool stays.

finding: pinned_pools
severity: notice
"""

import torch

x = torch.randn(1 << 22, device="cuda")
(x * 2 + 1).relu()  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    scaled = x * 2
    shifted = scaled + 1
    y = torch.relu(shifted)  # <- node
    del scaled, shifted
graph.replay()
torch.cuda.synchronize()
result = y
del y, graph
