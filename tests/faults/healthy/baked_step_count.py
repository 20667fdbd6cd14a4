"""Count the steps of an optimizer on the GPU."""

import torch


class Averaged:
    """Momentum with the correction of its first steps, as Adam has it."""

    def __init__(self, weight: torch.Tensor) -> None:
        self.weight, self.average = weight, torch.zeros_like(weight)
        self.steps = torch.zeros((), device="cuda")

    def step(self, gradient: torch.Tensor) -> None:
        self.steps += 1
        self.average.lerp_(gradient, 0.1)
        correction = 1 - 0.9**self.steps
        self.weight.sub_(self.average / correction)


weight, gradient = torch.randn(2, 1024, 1024, device="cuda")
optimizer = Averaged(weight)
optimizer.step(gradient)  # warm
torch.cuda.synchronize()

graphs = []
for _ in range(2):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizer.step(gradient)
    graphs.append(graph)
    graph.replay()
torch.cuda.synchronize()
