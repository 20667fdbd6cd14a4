"""Draw from a registered generator, and from the default one."""

import torch

generator = torch.Generator(device="cuda")
generator.manual_seed(3)
assert isinstance(torch.default_generator, torch.Generator)
x = torch.empty(64, device="cuda")
graph = torch.cuda.CUDAGraph()
graph.register_generator_state(generator)
with torch.cuda.graph(graph):
    x.normal_(generator=generator)
    y = torch.nn.functional.dropout(x, 0.5) + torch.rand(64, device="cuda")
