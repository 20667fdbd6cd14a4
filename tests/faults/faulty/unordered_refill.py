"""Fill the input with the next batch on another stream while it is still read.

finding: unordered_writes
severity: notice
"""

import torch

x, following = torch.randn(2, 2048, 512, device="cuda")
torch.softmax(x.copy_(following), -1)  # warm
side = torch.cuda.Stream()
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    side.wait_stream(torch.cuda.current_stream())
    y = torch.softmax(x, -1)  # <- node
    with torch.cuda.stream(side):
        x.copy_(following)  # <- node
    torch.cuda.current_stream().wait_stream(side)
graph.replay()
torch.cuda.synchronize()
