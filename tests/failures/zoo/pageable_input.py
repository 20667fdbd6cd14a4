"""Copy an input from pageable host memory inside the capture.

kind: pageable_copy
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
host = torch.randn(64, 64)
with torch.cuda.graph(graph):
    batch = host.to("cuda", non_blocking=True)  # <- fails here
    y = x @ batch
