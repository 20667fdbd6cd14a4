"""Log the loss inside a captured training step.

kind: host_sync
"""

import torch
from torch.nn import functional as F

model = torch.nn.Linear(32, 4).cuda()
optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
x, y = torch.randn(8, 32, device="cuda"), torch.randint(4, (8,), device="cuda")
losses = []


def step() -> None:
    optimizer.zero_grad(set_to_none=True)
    loss = F.cross_entropy(model(x), y)
    losses.append(loss.item())  # <- found here
    loss.backward()
    optimizer.step()


step()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
