"""Ask torch.cuda about the GPU and its memory."""

import torch

assert torch.cuda.is_available()
assert torch.cuda.device_count() >= 1
device = torch.device("cuda", torch.cuda.current_device())
if torch.cuda.get_device_capability(device) >= (8, 0):
    torch.backends.cuda.matmul.allow_tf32 = True
print(torch.cuda.get_device_properties(device).total_memory >> 30, torch.cuda.memory_allocated())
x = torch.randn(4, 4, device=device)
assert x.is_cuda
assert x.device == device
assert x.get_device() == 0
assert x.to("cuda").device == x.cuda().device == torch.zeros_like(x).device
assert not x.cpu().is_cuda
assert x.half().dtype == torch.float16
with torch.device("cuda"):
    assert torch.zeros(2).is_cuda
x @ x
graph = torch.cuda.CUDAGraph()
with torch.cuda.device(device), torch.cuda.graph(graph):
    assert torch.cuda.is_current_stream_capturing()
    torch.cuda.nvtx.range_push("square")
    y = x @ x
    torch.cuda.nvtx.range_pop()
assert not torch.cuda.is_current_stream_capturing()
