"""One graph per batch size, 35 of them in one memory pool, as an inference server keeps them."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from .protocol import SEED, Workload, capture, full_precision, warm_up

NAME = "batch_ladder"
DESCRIPTION = "Decode block captured at 35 batch sizes up to 256, all in one pool"
# The sizes that vLLM captures by default up to 256.
BATCH_SIZES: tuple[int, ...] = (1, 2, 4, *range(8, 257, 8))


class DecodeBlock(nn.Module):
    """Attention of one new token per sequence over a static cache, then a gated MLP."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_attention, self.norm_mlp = nn.RMSNorm(width), nn.RMSNorm(width)
        self.query, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.gate, self.up = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Map (batch, width) and caches (batch, heads, length, width / heads) to (batch, width)."""
        batch, width = x.shape
        query = self.query(self.norm_attention(x)).view(batch, self.heads, 1, -1)
        mixed = F.scaled_dot_product_attention(query, keys, values).reshape(batch, width)
        x = x + self.out(mixed)
        hidden = self.norm_mlp(x)
        out: torch.Tensor = x + self.down(F.silu(self.gate(hidden)) * self.up(hidden))
        return out


def build(device: str = "cuda", small: bool = False) -> Workload:
    """Build the blocks, the caches and the static input and output for the largest batch."""
    torch.manual_seed(SEED)
    sizes = BATCH_SIZES[:4] if small else BATCH_SIZES
    width, heads, layers, length = (16, 2, 1, 4) if small else (512, 8, 4, 128)
    dtype = torch.float16 if device == "cuda" else torch.float32
    largest = max(sizes)
    blocks = nn.ModuleList(DecodeBlock(width, heads) for _ in range(layers))
    blocks = blocks.eval().to(device=device, dtype=dtype)
    options = {"device": device, "dtype": dtype}
    x = torch.randn(largest, width, **options)
    out = torch.zeros(largest, width, **options)
    caches = [
        torch.randn(2, largest, heads, length, width // heads, **options) for _ in range(layers)
    ]

    @torch.no_grad()
    def step(batch: int) -> torch.Tensor:
        hidden = x[:batch]
        for block, (keys, values) in zip(blocks, caches, strict=True):
            hidden = block(hidden, keys[:batch], values[:batch])
        # Graphs in one pool overwrite each other's results, so the result leaves the pool.
        out[:batch].copy_(hidden)
        return out[:batch]

    def eager() -> torch.Tensor:
        for batch in sizes:
            result = step(batch)
        return result

    def capture_all() -> dict[int, torch.cuda.CUDAGraph]:
        pool = torch.cuda.graph_pool_handle()
        graphs = {}
        warm_up(eager)
        # Largest first: the smaller graphs then fit into the memory that the pool already has.
        for batch in sorted(sizes, reverse=True):
            graphs[batch], _ = capture(partial(step, batch), pool)
        return graphs

    def run(replays: int) -> torch.Tensor:
        graphs = capture_all()
        for _ in range(replays):
            for batch in sizes:
                graphs[batch].replay()
        torch.cuda.synchronize()
        return out.clone()

    def check() -> None:
        with full_precision():
            graphs = capture_all()
            for batch in sizes:
                expected = step(batch).clone()
                out.zero_()
                graphs[batch].replay()
                torch.testing.assert_close(out[:batch], expected, rtol=1e-2, atol=1e-2)
                if out[batch:].any():
                    raise AssertionError(f"{NAME}: the graph of batch {batch} wrote past its rows")

    return Workload(NAME, DESCRIPTION, eager, run, check)
