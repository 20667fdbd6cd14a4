"""Fork with an event: two branches, of which one is joined.

kind: unjoined_stream
"""

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()  # warm: cuBLAS, kernels

graph = torch.cuda.CUDAGraph()
x.sin()
streams = [torch.cuda.Stream(), torch.cuda.Stream()]
torch.cuda.synchronize()
with torch.cuda.graph(graph):
    fork = torch.cuda.Event()
    fork.record()
    branches = []
    for stream in streams:
        with torch.cuda.stream(stream):
            fork.wait()
            branches.append(x.sin())  # <- fails here
    torch.cuda.current_stream().wait_stream(streams[0])
    total = branches[0] + 1
