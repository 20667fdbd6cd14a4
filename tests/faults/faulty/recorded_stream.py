"""Call record_stream during a capture.

finding: record_stream
severity: notice
"""

import torch

x = torch.randn(1 << 20, device="cuda")
(x * 2 + 1).relu()  # warm
side = torch.cuda.Stream()
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    scaled = x * 2
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = scaled + 1
    scaled.record_stream(side)  # <- told
    torch.cuda.current_stream().wait_stream(side)
    del scaled
    z = y.relu()
graph.replay()
torch.cuda.synchronize()
