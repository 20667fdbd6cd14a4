"""Copy the next batch into the tensor of the input."""

import torch

batch = torch.randn(2048, 512, device="cuda")
torch.softmax(batch, -1) * 2  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    shares = torch.softmax(batch, -1)
    result = shares * 2
for _ in range(3):
    fresh = torch.randn(2048, 512, device="cuda")
    batch.copy_(fresh)
    graph.replay()
torch.cuda.synchronize()
