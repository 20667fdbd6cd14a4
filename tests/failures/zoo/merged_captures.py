"""Wait from one capture for a stream that is captured into another graph.

kind: merged_captures
"""

import torch
from cuda.bindings import runtime

x = torch.randn(64, 64, device="cuda")
x + 1
other = torch.cuda.Stream()
torch.cuda.synchronize()
mode = runtime.cudaStreamCaptureMode.cudaStreamCaptureModeRelaxed
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x + 1
    runtime.cudaStreamBeginCapture(other.cuda_stream, mode)
    torch.cuda.current_stream().wait_stream(other)  # <- fails here
