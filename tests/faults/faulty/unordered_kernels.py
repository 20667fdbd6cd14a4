"""Change one tensor in place on two streams.

finding: unordered_writes
severity: notice
node: kernel
"""

import torch

x = torch.randn(1 << 20, device="cuda")
x.mul_(2).add_(1).relu()  # warm
side = torch.cuda.Stream()
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    side.wait_stream(torch.cuda.current_stream())
    x.mul_(2)  # <- node
    with torch.cuda.stream(side):
        x.add_(1)  # <- node
    torch.cuda.current_stream().wait_stream(side)
    y = x.relu()
graph.replay()
torch.cuda.synchronize()
