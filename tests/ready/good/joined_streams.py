"""Fork two streams by event and by wait_stream, and join both."""

import torch

x = torch.randn(64, device="cuda")
left, right = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
before = torch.cuda.Event(enable_timing=True)
before.record()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    fork = torch.cuda.Event()
    fork.record()
    with torch.cuda.stream(left):
        fork.wait()
        a = x + 1
        joined = left.record_event()
    right.wait_stream(torch.cuda.current_stream())
    with right:
        b = x * 2
    torch.cuda.current_stream().wait_event(joined)
    torch.cuda.current_stream().wait_stream(right)
    c = a + b
before.synchronize()
assert before.query()
