"""Fork a stream and leave it.

kind: unjoined_stream
"""

import torch

x = torch.randn(64, device="cuda")
side = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x + 1
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        z = y * 2
        w = z.sin()  # <- found here
    v = y - 1
