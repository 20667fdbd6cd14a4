"""Optimizers with fused kernels, which have no form of their own for tensors without data."""

import torch

model = torch.nn.Linear(8, 8).cuda()
rate = torch.tensor(0.01, device="cuda")
adam = torch.optim.AdamW(model.parameters(), lr=rate, capturable=True, fused=True)
sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
x = torch.randn(4, 8, device="cuda")


def step() -> None:
    model.zero_grad()
    model(x).sum().backward()
    adam.step()
    sgd.step()


side = torch.cuda.Stream()
with torch.cuda.stream(side):
    step()
    step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
