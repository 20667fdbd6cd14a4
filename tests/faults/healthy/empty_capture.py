"""Capture work on another stream that has joined the capture."""

import torch

x = torch.randn(1 << 20, device="cuda")
(x * 2).relu()  # warm
side = torch.cuda.Stream()
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, capture_error_mode="relaxed"):
    main = torch.cuda.current_stream()
    side.wait_stream(main)
    with torch.cuda.stream(side):
        y = (x * 2).relu()
    main.wait_stream(side)
graph.replay()
torch.cuda.synchronize()
