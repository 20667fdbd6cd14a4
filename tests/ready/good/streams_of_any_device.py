"""Streams and events by ``torch.Stream`` and ``torch.Event``; state of generators."""

import torch

x = torch.randn(8, device="cuda")
side = torch.Stream(device="cuda")
event = torch.Event(device="cuda")
assert isinstance(torch.cuda.Stream(), torch.Stream)
assert torch.cuda.Stream.priority_range()[0] == 0
assert torch.accelerator.current_accelerator().type == "cuda"
with torch.accelerator.device_index(0):
    event.record()
side.wait_event(event)
side.synchronize()
torch.accelerator.synchronize()

generator = torch.Generator(device="cuda")
generator.manual_seed(1)
other = generator.clone_state()
assert other.device.type == "cuda"
generator.graphsafe_set_state(other)
graph = torch.cuda.CUDAGraph()
graph.register_generator_state(generator)
x = torch.rand(4, device="cuda", generator=generator)
with torch.cuda.graph(graph):
    y = torch.rand(4, device="cuda", generator=generator) + x
graph.replay()
