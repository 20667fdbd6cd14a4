"""Work that forks from the capturing stream onto several others and joins it again."""

from __future__ import annotations

import torch

from .protocol import SEED, Workload, from_step

NAME = "streams_forkjoin"
DESCRIPTION = "Matmul and elementwise branches on four streams, a copy stream, two fork-joins"


def build(device: str = "cuda", small: bool = False) -> Workload:
    """Build the branches' weights and buffers; on the CPU the branches run one after another."""
    torch.manual_seed(SEED)
    size, branches, depth = (16, 2, 2) if small else (1024, 4, 6)
    on_gpu = device == "cuda"
    source = torch.randn(size, size, pin_memory=on_gpu)
    sink = torch.zeros(size, size, pin_memory=on_gpu)
    uploaded = torch.zeros(size, size, device=device)
    x = torch.randn(size, size, device=device)
    weights = [torch.randn(size, size, device=device) / size**0.5 for _ in range(branches)]
    streams = [torch.cuda.Stream() for _ in range(branches)] if on_gpu else []
    copy_stream = torch.cuda.Stream() if on_gpu else None

    def branch(index: int) -> torch.Tensor:
        y = x
        for _ in range(depth):
            # Every other branch is made of small kernels, so the lanes have different lengths.
            y = torch.tanh(y @ weights[index]) if index % 2 == 0 else torch.sin(y) + 0.5 * y
        return y

    def join(parts: list[torch.Tensor]) -> torch.Tensor:
        return torch.stack(parts).sum(0) + uploaded

    def sequential() -> torch.Tensor:
        uploaded.copy_(source)
        total = join([branch(index) for index in range(branches)])
        sink.copy_(total)
        return total

    def parallel() -> torch.Tensor:
        assert copy_stream is not None
        main = torch.cuda.current_stream()
        for stream in (*streams, copy_stream):
            stream.wait_stream(main)
        with torch.cuda.stream(copy_stream):
            uploaded.copy_(source, non_blocking=True)
        parts = []
        for index, stream in enumerate(streams):
            with torch.cuda.stream(stream):
                parts.append(branch(index))
        for stream in (*streams, copy_stream):
            main.wait_stream(stream)
        total = join(parts)
        copy_stream.wait_stream(main)
        with torch.cuda.stream(copy_stream):
            sink.copy_(total, non_blocking=True)
        main.wait_stream(copy_stream)
        return total

    step = parallel if on_gpu else sequential

    def state() -> list[torch.Tensor]:
        return [uploaded, sink]

    workload = from_step(NAME, DESCRIPTION, step)

    def check() -> None:
        workload.check()
        # The copies too: what they bring is overwritten first, then brought again by a replay.
        for tensor in state():
            tensor.zero_()
        result = workload.run(1)
        torch.testing.assert_close(uploaded.cpu(), source)
        torch.testing.assert_close(sink, result.cpu())

    return Workload(NAME, DESCRIPTION, step, workload.run, check)
