"""Copy two sources into one target one after the other."""

import torch

sources = torch.randn(2, 1 << 20, device="cuda")
target = torch.empty(1 << 20, device="cuda")
target.copy_(sources[0]).mul(2)  # warm
side = torch.cuda.Stream()
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    target.copy_(sources[0])
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        target.copy_(sources[1])
    torch.cuda.current_stream().wait_stream(side)
    y = target * 2
graph.replay()
torch.cuda.synchronize()
