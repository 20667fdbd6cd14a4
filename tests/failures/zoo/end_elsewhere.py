"""End the capture on another stream than it began on.

kind: mismatched_end
"""

import torch

x = torch.randn(64, 64, device="cuda")
x + 1
first, second = torch.cuda.Stream(), torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
torch.cuda.synchronize()
with torch.cuda.stream(first):
    graph.capture_begin()
    y = x + 1
with torch.cuda.stream(second):
    graph.capture_end()  # <- fails here
