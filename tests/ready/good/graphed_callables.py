"""torch's own make_graphed_callables on a module that trains."""

import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 8)).cuda()
x = torch.randn(4, 8, device="cuda")
graphed = torch.cuda.make_graphed_callables(model, (torch.randn_like(x),))
graphed(x).sum().backward()
