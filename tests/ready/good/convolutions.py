"""Train a small convolutional network with batch norm, clipping and SGD."""

import torch
from torch import nn

model = nn.Sequential(
    nn.Conv2d(3, 8, 3),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(392, 4),
).cuda()
x, y = torch.randn(2, 3, 16, 16, device="cuda"), torch.randint(4, (2,), device="cuda")
model(x)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def step() -> None:
    optimizer.zero_grad(set_to_none=True)
    nn.functional.cross_entropy(model(x), y).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


for _ in range(3):
    step()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
