"""Pass the position of the next token to a kernel in memory."""

import torch
import triton
import triton.language as tl


@triton.jit
def rotate(target, position, count, BLOCK: tl.constexpr):  # noqa: N803
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    angle = tl.load(position)
    values = tl.load(target + offsets, mask=mask)
    tl.store(target + offsets, values * tl.cos(angle * 0.5), mask=mask)


x = torch.randn(4096, device="cuda")
positions = torch.zeros(1, device="cuda", dtype=torch.int32)
graphs, outputs = [], []
for position in (7, 9):
    positions.fill_(position)
    argument = positions
    rotate[(4,)](x, argument, x.numel(), BLOCK=1024)  # warm
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.mul_(2)
        rotate[(4,)](x, argument, x.numel(), BLOCK=1024)
    graphs.append(graph)
    graph.replay()
torch.cuda.synchronize()
