"""Allocate in one graph and free in another: neither can be launched twice alone.

finding: memory_nodes
severity: warning
graph: each
node: mem_alloc mem_free
"""

import torch
from cuda.bindings import runtime

x = torch.randn(1 << 20, device="cuda")
x.mul(2)  # warm
torch.cuda.synchronize()


def take() -> int:
    error, scratch = runtime.cudaMallocAsync(1 << 22, torch.cuda.current_stream().cuda_stream)
    torch.cuda.check_error(int(error))
    return scratch


def release(scratch: int) -> None:
    answer = runtime.cudaFreeAsync(scratch, torch.cuda.current_stream().cuda_stream)
    torch.cuda.check_error(int(answer[0]))


first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(first):
    y = x * 2
    scratch = take()
    z = y * 2
with torch.cuda.graph(second):
    release(scratch)
    doubled = z * 2
first.replay()
second.replay()
torch.cuda.synchronize()
