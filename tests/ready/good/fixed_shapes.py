"""Forms with a fixed shape of operators that otherwise wait."""

import torch
from torch.nn import functional as F

x, labels = torch.randn(8, 8, device="cuda"), torch.randint(4, (8,), device="cuda")
counts = torch.ones(8, dtype=torch.long, device="cuda")


def step() -> None:
    a = torch.nonzero_static(x > 0, size=16)
    b = F.one_hot(labels, 4)
    c = x.repeat_interleave(counts, dim=0, output_size=8)
    d = torch.histc(x, 10, min=-1, max=1)
    e = torch.zeros(4, device="cuda").index_add_(0, labels, torch.ones(8, device="cuda"))
    f = x.topk(3).values.sort().values.cumsum(0).softmax(-1).multinomial(1)
    g = torch.randperm(8, device="cuda")
    h = torch.linalg.inv_ex(x).inverse


step()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
