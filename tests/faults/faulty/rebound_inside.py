"""Give the variable of a mask another tensor inside the capture: the first one is freed.

finding: stale_pointers
severity: notice
"""

import torch

scores = torch.randn(1024, 1024, device="cuda")
mask = torch.zeros(1024, 1024, device="cuda")
following = torch.ones(1024, 1024, device="cuda")
(scores + mask).relu()  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    masked = scores + mask  # <- node
    mask = torch.relu(following)  # <- told
    result = masked + mask
graph.replay()
torch.cuda.synchronize()
