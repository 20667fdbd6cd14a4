"""Load a state with assign=True after the capture, and keep the old one.

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
before = model.state_dict()
trained = {name: torch.randn_like(value) for name, value in before.items()}
model.load_state_dict(trained, assign=True)
graph.replay()
torch.cuda.synchronize()
