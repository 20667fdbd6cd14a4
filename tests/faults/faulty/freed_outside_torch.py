"""Free memory of cudaMalloc that a graph sets to zero.

finding: freed_later
severity: notice
node: memset
"""

import torch
from cuda.bindings import runtime

x = torch.randn(1 << 20, device="cuda")
x.mul_(2)  # warm
error, buffer = runtime.cudaMalloc(1 << 22)
torch.cuda.check_error(int(error))
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x.mul_(2)
    stream = torch.cuda.current_stream().cuda_stream
    torch.cuda.check_error(int(runtime.cudaMemsetAsync(buffer, 0, 1 << 22, stream)[0]))
graph.replay()
torch.cuda.synchronize()
torch.cuda.check_error(int(runtime.cudaFree(buffer)[0]))
