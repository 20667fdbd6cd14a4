"""Have a prefetcher call record_stream on the batch before the capture."""

import torch


class Prefetcher:
    """Fetches the next batch on a stream of its own."""

    def __init__(self) -> None:
        self.stream = torch.cuda.Stream()
        with torch.cuda.stream(self.stream):
            self.batch = torch.randn(1 << 20, device="cuda")
        torch.cuda.current_stream().wait_stream(self.stream)

    def following(self) -> torch.Tensor:
        self.batch.record_stream(torch.cuda.current_stream())
        return self.batch


prefetcher = Prefetcher()
batch = prefetcher.following()
(batch * 2).relu()  # warm
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    assert batch is prefetcher.batch
    y = (batch * 2).relu()
graph.replay()
torch.cuda.synchronize()
