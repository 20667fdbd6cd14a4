"""Register host memory inside the capture.

kind: allocation
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
host = torch.zeros(1 << 20)
with torch.cuda.graph(graph):
    y = x @ x
    code = torch.cuda.cudart().cudaHostRegister(host.data_ptr(), host.nbytes, 0)
    torch.cuda.check_error(int(code))  # <- fails here
