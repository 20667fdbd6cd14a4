"""Make an FFT plan inside the capture.

kind: lazy_load
"""

import torch

x = torch.rand(64, 100, device="cuda")
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.fft.rfft(x)  # <- fails here
