"""Launch a graph that draws random numbers past torch's own replay.

finding: random_state
severity: notice
"""

import torch
from cuda.bindings import runtime

x = torch.randn(1 << 20, device="cuda")
torch.nn.functional.dropout(x, 0.5).mul(2)  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph(keep_graph=True)
with torch.cuda.graph(graph):
    y = torch.nn.functional.dropout(x, 0.5)  # <- node
    z = y * 2
graph.instantiate()
graph.replay()
stream = torch.cuda.current_stream().cuda_stream
for _ in range(3):
    executable = runtime.cudaGraphExec_t(graph.raw_cuda_graph_exec())  # <- told
    torch.cuda.check_error(int(runtime.cudaGraphLaunch(executable, stream)[0]))
torch.cuda.check_error(int(runtime.cudaDeviceSynchronize()[0]))
