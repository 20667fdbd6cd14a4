"""Write the next mask into the tensor of the first one."""

import torch

scores = torch.randn(1024, 1024, device="cuda")
mask = torch.zeros(1024, 1024, device="cuda")
following = torch.ones(1024, 1024, device="cuda")
(scores + mask).relu()  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    masked = scores + mask
    mask = mask.copy_(following)
    result = masked + mask
graph.replay()
torch.cuda.synchronize()
