"""Free the input of a graph after the capture.

finding: freed_later
severity: warning
"""

import torch

x = torch.randn(2048, 512, device="cuda")
torch.softmax(x, -1) * 2  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.softmax(x, -1)  # <- node
    z = y * 2
graph.replay()
torch.cuda.synchronize()
del x  # <- told
graph.replay()
torch.cuda.synchronize()
