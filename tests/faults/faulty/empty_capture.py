"""Capture while all work goes to another stream.

finding: empty_graph
severity: warning
"""

import torch

x = torch.randn(1 << 20, device="cuda")
(x * 2).relu()  # warm
side = torch.cuda.Stream()
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, capture_error_mode="relaxed"):
    main = torch.cuda.current_stream()
    side.synchronize()
    with torch.cuda.stream(side):
        y = (x * 2).relu()
    side.synchronize()
graph.replay()
torch.cuda.synchronize()
