"""A loss of sequences whose lengths torch reads on the host.

kind: host_sync
"""

import torch

scores = torch.randn(20, 2, 6, device="cuda").log_softmax(2)
targets = torch.randint(1, 6, (2, 5), device="cuda")
inputs = torch.full((2,), 20, device="cuda")
lengths = torch.full((2,), 5, device="cuda")


def step() -> torch.Tensor:
    return torch.nn.functional.ctc_loss(scores, targets, inputs, lengths)  # <- found here


step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
