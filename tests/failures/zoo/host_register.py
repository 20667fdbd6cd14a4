"""Register host memory inside the capture.

kind: allocation
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
host = torch.zeros(1 << 20)
cudart = torch.cuda.cudart()
with torch.cuda.graph(graph):
    y = x @ x
    torch.cuda.check_error(int(cudart.cudaHostRegister(host.data_ptr(), 4096, 0)))  # <- fails here
