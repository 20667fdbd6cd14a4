"""Set the input to zero when it has been read."""

import torch
from cuda.bindings import runtime

x = torch.randn(2048, 512, device="cuda")
torch.softmax(x, -1)  # warm
side = torch.cuda.Stream()
torch.cuda.synchronize()


def clear(tensor: torch.Tensor, stream: torch.cuda.Stream) -> None:
    answer = runtime.cudaMemsetAsync(tensor.data_ptr(), 0, tensor.nbytes, stream.cuda_stream)
    torch.cuda.check_error(int(answer[0]))


graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.softmax(x, -1)
    side.wait_stream(torch.cuda.current_stream())
    clear(x, side)
    torch.cuda.current_stream().wait_stream(side)
graph.replay()
torch.cuda.synchronize()
