"""A recurrent network under autocast."""

import torch

model = torch.nn.LSTM(16, 32, num_layers=2).cuda()
head = torch.nn.Linear(32, 4).cuda().half()
x = torch.randn(5, 2, 16, device="cuda")


def step() -> torch.Tensor:
    with torch.autocast("cuda", dtype=torch.float16):
        out, _ = model(x)
        result: torch.Tensor = head(out.half())
        return result


step()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph), torch.no_grad():
    step()
