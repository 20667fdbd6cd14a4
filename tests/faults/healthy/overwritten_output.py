"""Give each graph a pool of its own."""

import torch

x = torch.randn(2048, 512, device="cuda")
torch.softmax(x * 2, -1)  # warm
x + 3
torch.cuda.synchronize()

first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(first):
    a = torch.softmax(x * 2, -1)
with torch.cuda.graph(second):
    b = x + 3
second.replay()
first.replay()
total = b.sum().item()
