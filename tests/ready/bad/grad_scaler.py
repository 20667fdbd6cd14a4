"""Step a gradient scaler inside the capture.

kind: host_sync
"""

import torch

model = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
x = torch.randn(4, 8, device="cuda")


def step() -> None:
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(x).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # <- found here
    scaler.update()


step()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
