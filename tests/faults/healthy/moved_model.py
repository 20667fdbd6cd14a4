"""Copy a model to the host and back while its graph is still replayed."""

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
saved = {name: value.cpu() for name, value in model.state_dict().items()}
cache = torch.zeros(1024, 1024, device="cuda")
model.load_state_dict(saved)
graph.replay()
torch.cuda.synchronize()
