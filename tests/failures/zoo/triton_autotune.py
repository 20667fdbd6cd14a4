"""Let Triton time its configurations inside the capture.

kind: lazy_load
"""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["count"]
)
@triton.jit
def double(source, target, count, BLOCK: tl.constexpr):  # noqa: N803
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(target + offsets, 2 * tl.load(source + offsets, mask=mask), mask=mask)


x = torch.randn(4096, device="cuda")
y = torch.empty_like(x)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    double[lambda meta: (triton.cdiv(4096, meta["BLOCK"]),)](x, y, x.numel())  # <- fails here
