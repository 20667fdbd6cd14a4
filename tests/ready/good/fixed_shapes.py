"""Forms with a fixed shape of operators that otherwise wait."""

import torch
from torch.nn import functional as F

x, labels = torch.randn(8, 8, device="cuda"), torch.randint(4, (8,), device="cuda")
counts = torch.ones(8, dtype=torch.long, device="cuda")


def step() -> None:
    torch.nonzero_static(x > 0, size=16)
    F.one_hot(labels, 4)
    x.repeat_interleave(counts, dim=0, output_size=8)
    torch.histc(x, 10, min=-1, max=1)
    torch.zeros(4, device="cuda").index_add_(0, labels, torch.ones(8, device="cuda"))
    x.topk(3).values.sort().values.cumsum(0).softmax(-1).multinomial(1)
    torch.randperm(8, device="cuda")
    torch.linalg.inv_ex(x)


step()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
