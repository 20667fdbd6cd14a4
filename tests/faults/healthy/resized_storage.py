"""Keep the memory of a sharded weight between replays."""

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
storage = model.weight.untyped_storage()
assert storage.nbytes() == 1 << 22
graph.replay()
torch.cuda.synchronize()
