"""Replay a graph that draws random numbers, which advances torch's generator."""

import torch
from cuda.bindings import runtime

x = torch.randn(1 << 20, device="cuda")
torch.nn.functional.dropout(x, 0.5).mul(2)  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph(keep_graph=True)
with torch.cuda.graph(graph):
    y = torch.nn.functional.dropout(x, 0.5)
    z = y * 2
graph.instantiate()
graph.replay()
stream = torch.cuda.current_stream().cuda_stream
for _ in range(3):
    graph.replay()
    torch.cuda.check_error(int(runtime.cudaStreamSynchronize(stream)[0]))
torch.cuda.check_error(int(runtime.cudaDeviceSynchronize()[0]))
