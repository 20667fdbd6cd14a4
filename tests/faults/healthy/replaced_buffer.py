"""Reset the running mean of a normalisation in place."""

import torch

norm = torch.nn.BatchNorm2d(256).cuda().eval().requires_grad_(False)
x = torch.randn(8, 256, 32, 32, device="cuda")
norm(x).relu()  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = norm(x)
    z = y.relu()
graph.replay()
torch.cuda.synchronize()
norm.running_mean.fill_(0.5)
graph.replay()
torch.cuda.synchronize()
