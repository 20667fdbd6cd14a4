"""Put the next batch into the variable of the input, and not into its tensor.

finding: freed_later
severity: warning
"""

import torch

batch = torch.randn(2048, 512, device="cuda")
torch.softmax(batch, -1) * 2  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    shares = torch.softmax(batch, -1)  # <- node
    result = shares * 2
for _ in range(3):
    fresh = torch.randn(2048, 512, device="cuda")
    batch = fresh  # <- told
    graph.replay()
torch.cuda.synchronize()
