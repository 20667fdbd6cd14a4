"""Set gradients to None after a capture that adds to them.

alone: yes
finding: freed_later
severity: warning
text: gradient of Linear: weight
others: allowed
"""

import torch

model = torch.nn.Linear(1024, 1024).cuda()
x = torch.randn(256, 1024, device="cuda")


def step() -> None:
    model.zero_grad(set_to_none=False)  # <- node
    model(x).square().mean().backward()


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step()  # warm
torch.cuda.current_stream().wait_stream(side)

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
graph.replay()
torch.cuda.synchronize()
model.zero_grad(set_to_none=True)  # <- told
graph.replay()
torch.cuda.synchronize()
