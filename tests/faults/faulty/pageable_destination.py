"""Copy a result to pageable host memory in a graph.

finding: host_memory
severity: warning
node: memcpy
text: destination
"""

import torch
from cuda.bindings import runtime

x = torch.randn(1 << 20, device="cuda")
host = torch.ones(1 << 20)
x.mul(2)  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    stream = torch.cuda.current_stream().cuda_stream
    y = x * 2
    kind = runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
    answer = runtime.cudaMemcpyAsync(host.data_ptr(), y.data_ptr(), y.nbytes, kind, stream)
    torch.cuda.check_error(int(answer[0]))
graph.replay()
torch.cuda.synchronize()
