"""Copy two sources into one target on two streams.

finding: unordered_writes
severity: warning
node: memcpy
"""

import torch

sources = torch.randn(2, 1 << 20, device="cuda")
target = torch.empty(1 << 20, device="cuda")
target.copy_(sources[0]).mul(2)  # warm
side = torch.cuda.Stream()
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    side.wait_stream(torch.cuda.current_stream())
    target.copy_(sources[0])  # <- node
    with torch.cuda.stream(side):
        target.copy_(sources[1])  # <- node
    torch.cuda.current_stream().wait_stream(side)
    y = target * 2
graph.replay()
torch.cuda.synchronize()
