"""Capture on a blocking stream, and launch on the default stream, which waits for such streams.

kind: legacy_stream
"""

import torch
from cuda.bindings import runtime

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()

_, handle = runtime.cudaStreamCreate()
stream = torch.cuda.ExternalStream(int(handle))
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, stream=stream):
    y = x + 1
    with torch.cuda.stream(torch.cuda.default_stream()):
        z = x + 2  # <- fails here
