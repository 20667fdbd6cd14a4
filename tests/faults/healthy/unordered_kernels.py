"""Change one tensor in place on two streams, one after the other."""

import torch

x = torch.randn(1 << 20, device="cuda")
x.mul_(2).add_(1).relu()  # warm
side = torch.cuda.Stream()
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x.mul_(2)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x.add_(1)
    torch.cuda.current_stream().wait_stream(side)
    y = x.relu()
graph.replay()
torch.cuda.synchronize()
