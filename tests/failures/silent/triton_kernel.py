"""Launch a kernel of one's own on a stream that does not wait for the capturing one.

left out: double
"""

import torch
import triton
import triton.language as tl


@triton.jit
def double(source, target, count, BLOCK: tl.constexpr):  # noqa: N803
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(target + offsets, 2 * tl.load(source + offsets, mask=mask), mask=mask)


x = torch.randn(4096, device="cuda")
y = torch.empty_like(x)
double[(4,)](x, y, x.numel(), BLOCK=1024)
side = torch.cuda.Stream()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    z = x + 1
    with torch.cuda.stream(side):
        double[(4,)](x, y, x.numel(), BLOCK=1024)  # <- left out
