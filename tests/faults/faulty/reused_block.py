"""Free the input of a graph, and let another tensor have its memory.

alone: yes
finding: freed_later
severity: warning
"""

import torch

x = torch.randn(2048, 512, device="cuda")
address = x.data_ptr()
torch.softmax(x, -1).mul(2)  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.softmax(x, -1)  # <- node
    z = y * 2
graph.replay()
torch.cuda.synchronize()
x = None  # <- told
other = torch.zeros(2048, 512, device="cuda")
assert other.data_ptr() == address
graph.replay()
torch.cuda.synchronize()
