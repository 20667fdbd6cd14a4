"""Change the precision of a model after the capture.

finding: rebound_storage
severity: warning
text: Linear: weight
"""

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
    y = model(x)  # <- node
    z = y.relu()
graph.replay()
torch.cuda.synchronize()
saved = copy.deepcopy(model)
model = model.bfloat16()
y = model(x.bfloat16())
graph.replay()
torch.cuda.synchronize()
