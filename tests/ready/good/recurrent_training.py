"""Recurrent networks: packed sequences, both directions, dropout, a backward pass."""

import copy

import torch
from torch.nn.utils import rnn

lstm = torch.nn.LSTM(16, 32, num_layers=2, bidirectional=True, dropout=0.1).cuda()
gru = torch.nn.GRU(64, 8).cuda()
lstm.flatten_parameters()
with torch.no_grad():  # as flatten_parameters does where torch is built with cuDNN; 3 is a GRU
    weights = list(gru.parameters())
    buffer = torch._cudnn_rnn_flatten_weight(weights, 4, 64, 3, 8, 0, 1, False, False)
assert buffer.numel() >= sum(weight.numel() for weight in weights)
still = copy.deepcopy(gru).half().eval()
x = torch.randn(5, 2, 16, device="cuda")
packed = rnn.pack_padded_sequence(x, torch.tensor([5, 3]))
assert packed.data.shape == (8, 16)
cell = torch.nn.LSTMCell(16, 8).cuda()


def step() -> None:
    out, _ = lstm(x)
    gru(out)[0].sum().backward()
    cell(x[0])[0].sum().backward()
    with torch.no_grad():
        lstm(packed)
        still(out.half())


side = torch.cuda.Stream()
with torch.cuda.stream(side):
    step()
    step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
graph.replay()
