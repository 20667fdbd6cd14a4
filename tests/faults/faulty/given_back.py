"""Free the input of a graph and give its memory back to the driver.

alone: yes
finding: freed_later
severity: notice
text: given back
"""

import torch

x = torch.randn(16384, 1024, device="cuda")
torch.softmax(x, -1)  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.softmax(x, -1)  # <- node
    z = y * 2
graph.replay()
torch.cuda.synchronize()
x = None  # <- told
torch.cuda.empty_cache()
