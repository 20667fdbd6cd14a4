"""Branches on several streams in one graph: they fork from the capturing stream and join it.

Shows that a capture follows events: a stream that waits for the capturing one is captured too,
and what it did becomes a parallel branch. One stream only copies: from pinned memory while the
branches compute, and back when they are done.
"""

from __future__ import annotations

import torch

SIZE = 1024
REPLAYS = 50


def main() -> None:
    """Capture two fork-joins with a copy stream, replay, compare with one stream."""
    torch.manual_seed(0)
    host_input = torch.randn(SIZE, SIZE, pin_memory=True)
    host_output = torch.empty(SIZE, SIZE, pin_memory=True)
    bias = torch.empty(SIZE, SIZE, device="cuda")
    x = torch.randn(SIZE, SIZE, device="cuda")
    left, right = (torch.randn(SIZE, SIZE, device="cuda") / SIZE**0.5 for _ in range(2))
    matmul_stream, wave_stream, copy_stream = (torch.cuda.Stream() for _ in range(3))

    def matmuls() -> torch.Tensor:
        return torch.relu(torch.relu(x @ left) @ right)

    def waves() -> torch.Tensor:
        y = x
        for _ in range(6):
            y = torch.sin(y) + 0.1 * y
        return y

    def parallel() -> torch.Tensor:
        capturing = torch.cuda.current_stream()
        fork = torch.cuda.Event()
        fork.record(capturing)
        with torch.cuda.stream(matmul_stream):
            matmul_stream.wait_event(fork)
            first = matmuls()
        with torch.cuda.stream(wave_stream):
            wave_stream.wait_event(fork)
            second = waves()
        with torch.cuda.stream(copy_stream):
            copy_stream.wait_event(fork)
            bias.copy_(host_input, non_blocking=True)
        norm = x.square().mean()  # The capturing stream has work of its own meanwhile.
        for stream in (matmul_stream, wave_stream, copy_stream):
            capturing.wait_event(stream.record_event())
        total = (first + second + bias) / norm

        copy_stream.wait_event(capturing.record_event())
        with torch.cuda.stream(copy_stream):
            host_output.copy_(total, non_blocking=True)
        result = torch.softmax(total, dim=-1)  # Runs beside the copy.
        # Every forked stream has to be joined before the capture ends.
        capturing.wait_event(copy_stream.record_event())
        return result

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            parallel()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    host_output.zero_()

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = parallel()
    for _ in range(REPLAYS):
        graph.replay()
    torch.cuda.synchronize()

    total = (matmuls() + waves() + host_input.cuda()) / x.square().mean()
    torch.testing.assert_close(host_output.cuda(), total, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(result, torch.softmax(total, dim=-1), rtol=1e-3, atol=1e-4)
    print(f"fork_join: {REPLAYS} replays on 4 streams equal one stream")


if __name__ == "__main__":
    main()
