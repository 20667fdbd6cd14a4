"""Let cuDNN try its algorithms inside the capture.

kind: lazy_load
"""

import torch

torch.backends.cudnn.benchmark = True
layer = torch.nn.Conv2d(16, 32, 3, padding=1).cuda()
x = torch.randn(8, 16, 32, 32, device="cuda")
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph), torch.no_grad():
    y = layer(x)  # <- fails here
