"""Copy a model, load its state and train both."""

import copy

import torch
from torch.utils.data import DataLoader, TensorDataset

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh()).to("cuda")
twin = copy.deepcopy(model)
twin.load_state_dict(model.state_dict())
assert twin[0].weight.device.type == "cuda"
assert twin[0].weight is not model[0].weight
assert isinstance(twin[0].weight, torch.nn.Parameter)
data = DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=4, shuffle=True)
static = torch.empty(4, 4, device="cuda")
twin(static)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = twin(static)
for (batch,) in data:
    static.copy_(batch)
    graph.replay()
