"""Make a constant in a module's forward.

kind: pageable_copy
"""

import torch


class Scaled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.tensor([0.5, 2.0], device=x.device)  # <- found here
        return x * scale


model = Scaled().cuda()
x = torch.randn(8, 2, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = model(x)
