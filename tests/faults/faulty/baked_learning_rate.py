"""Capture the step of an optimizer whose learning rate is a Python number.

finding: baked_scalars
severity: notice
graph: any
"""

import torch

weight = torch.nn.Parameter(torch.randn(1024, 1024, device="cuda"))
weight.grad = torch.randn_like(weight)
rate = 0.5
optimizer = torch.optim.SGD([weight], lr=rate, fused=True)
optimizer.step()  # warm
weight.grad.mul_(2)
torch.cuda.synchronize()

graphs = []
for _ in range(2):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        weight.grad.mul_(2)
        optimizer.step()  # <- node
    graphs.append(graph)
    graph.replay()
    optimizer.param_groups[0]["lr"] *= 0.5
torch.cuda.synchronize()
