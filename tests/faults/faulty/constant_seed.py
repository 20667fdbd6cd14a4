"""Draw the mask of a dropout from a seed that is a number.

finding: random_state
severity: notice
needs: triton
"""

import torch
import triton
import triton.language as tl


@triton.jit
def dropout(source, target, seed, count, BLOCK: tl.constexpr):  # noqa: N803
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    kept = tl.rand(seed, offsets) > 0.5
    values = tl.load(source + offsets, mask=mask)
    tl.store(target + offsets, tl.where(kept, values, 0), mask=mask)


x = torch.randn(4096, device="cuda")
y = torch.empty_like(x)
seeds = torch.full((1,), 1234567, device="cuda", dtype=torch.int32)
seed = 1234567
dropout[(4,)](x, y, seed, x.numel(), BLOCK=1024)  # warm
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    seeds.add_(1)
    dropout[(4,)](x, y, seed, x.numel(), BLOCK=1024)  # <- node
graph.replay()
torch.cuda.synchronize()
