"""Convert a copy of a model after the capture."""

import copy

import torch

model = torch.nn.Linear(1024, 1024).cuda().requires_grad_(False)
x = torch.randn(256, 1024, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    model(x)  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = model(x)
    z = y.relu()
graph.replay()
torch.cuda.synchronize()
saved = copy.deepcopy(model)
saved = saved.bfloat16()
y = saved(x.bfloat16())
graph.replay()
torch.cuda.synchronize()
