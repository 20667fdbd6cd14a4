"""Move a model to the host and back while its graph is still replayed.

alone: yes
finding: rebound_storage
severity: warning
text: Linear: weight
"""

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
model.to("cpu")
cache = torch.zeros(1024, 1024, device="cuda")
model.to("cuda")
graph.replay()
torch.cuda.synchronize()
