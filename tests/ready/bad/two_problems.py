"""Two problems in one capture: the second is found too.

kind: host_sync
"""

import torch

x = torch.randn(8, 8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    if x.mean() > 0:  # <- found here
        x = x * 2
    chosen = x.masked_select(x > 0)  # <- found here
    y = chosen.sum()
