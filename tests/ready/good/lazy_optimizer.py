"""workload() makes the optimizer's state in its first call."""

import torch

model = torch.nn.Linear(8, 8, device="cuda")
optimizer = torch.optim.AdamW(model.parameters(), capturable=True, foreach=True)
x = torch.randn(4, 8, device="cuda")


def workload() -> torch.Tensor:
    optimizer.zero_grad(set_to_none=True)
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss.detach()
