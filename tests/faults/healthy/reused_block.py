"""Keep the input of a graph, and give another tensor memory of its own."""

import torch

x = torch.randn(2048, 512, device="cuda")
address = x.data_ptr()
torch.softmax(x, -1).mul(2)  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.softmax(x, -1)
    z = y * 2
graph.replay()
torch.cuda.synchronize()
x.normal_()
other = torch.zeros(2048, 512, device="cuda")
assert other.data_ptr() != address
graph.replay()
torch.cuda.synchronize()
