"""Free inside a graph what it allocates."""

import torch
from cuda.bindings import runtime

x = torch.randn(1 << 20, device="cuda")
x.mul(2)  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
    stream = torch.cuda.current_stream().cuda_stream
    error, scratch = runtime.cudaMallocAsync(1 << 22, stream)
    torch.cuda.check_error(int(error))
    torch.cuda.check_error(int(runtime.cudaMemsetAsync(scratch, 0, 1 << 22, stream)[0]))
    torch.cuda.check_error(int(runtime.cudaFreeAsync(scratch, stream)[0]))
graph.replay()
torch.cuda.synchronize()
