"""Capture on the default stream.

kind: default_stream_capture
"""

import torch

x = torch.randn(64, 64, device="cuda")
x + 1
graph = torch.cuda.CUDAGraph()
torch.cuda.synchronize()
graph.capture_begin()  # <- fails here
y = x + 1
graph.capture_end()
