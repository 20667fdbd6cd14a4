"""One graph per batch size, ten of them, sharing one memory pool.

Shows how a server keeps graphs for changing load: a request is padded to the next size that was
captured. All graphs get the same ``pool``, captured from the largest to the smallest, so together
they need little more memory than the largest alone; the price is that only one may run at a time
and that a result has to leave the pool before the next graph overwrites it.
"""

from __future__ import annotations

import torch
from torch import nn

BATCH_SIZES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 128)
WIDTH = 512
ROUNDS = 45


@torch.no_grad()
def main() -> None:
    """Capture a graph per size, serve requests of any size, compare each with eager."""
    torch.manual_seed(0)
    layers = [(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH)) for _ in range(4)]
    model = nn.Sequential(*(module for layer in layers for module in layer)).half().cuda().eval()
    static_input = torch.zeros(max(BATCH_SIZES), WIDTH, device="cuda", dtype=torch.half)
    static_output = torch.zeros_like(static_input)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for batch in BATCH_SIZES:
            model(static_input[:batch])
    torch.cuda.current_stream().wait_stream(side)

    pool = torch.cuda.graph_pool_handle()
    graphs: dict[int, torch.cuda.CUDAGraph] = {}
    for batch in sorted(BATCH_SIZES, reverse=True):
        graphs[batch] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[batch], pool=pool):
            static_output[:batch].copy_(model(static_input[:batch]))

    # Requests of every size that a graph was made for, and of sizes that have to be padded.
    row_counts = [rows for rows in (*BATCH_SIZES, 3, 33) for _ in range(ROUNDS)]
    for rows in row_counts:
        request = torch.randn(rows, WIDTH, device="cuda", dtype=torch.half)
        batch = min(size for size in BATCH_SIZES if size >= rows)
        static_input[:rows].copy_(request)
        graphs[batch].replay()
        answer = static_output[:rows].clone()
        torch.testing.assert_close(answer, model(request), rtol=1e-2, atol=1e-2)
    print(f"batch_sizes: {len(graphs)} graphs in one pool served {len(row_counts)} requests")


if __name__ == "__main__":
    main()
