"""Let the default stream wait for an event that was recorded in the capture.

kind: legacy_stream
"""

import torch

x = torch.randn(64, 64, device="cuda")
x + 1
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x + 1
    done = torch.cuda.Event()
    done.record()
    done.wait(torch.cuda.default_stream())  # <- fails here
