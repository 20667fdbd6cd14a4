"""Clip gradients and raise when one is not finite.

kind: host_sync
"""

import torch

model = torch.nn.Linear(8, 8).cuda()
x = torch.randn(4, 8, device="cuda")
model(x).sum().backward()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    torch.nn.utils.clip_grad_norm_([model.weight], 1.0, error_if_nonfinite=True)  # <- found here
