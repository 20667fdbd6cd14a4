"""Copy pinned host memory to the GPU in a graph."""

import torch
from cuda.bindings import runtime

x = torch.randn(1 << 20, device="cuda")
host = torch.ones(1 << 20, pin_memory=True)
x.mul(2)  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    stream = torch.cuda.current_stream().cuda_stream
    kind = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
    answer = runtime.cudaMemcpyAsync(x.data_ptr(), host.data_ptr(), x.nbytes, kind, stream)
    torch.cuda.check_error(int(answer[0]))
    y = x * 2
graph.replay()
torch.cuda.synchronize()
