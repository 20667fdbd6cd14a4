"""What runs in which type under autocast, and a cache in the lower one."""

import torch
from torch import nn
from torch.nn import functional as F

half = torch.float16
x = torch.randn(4, 8, device="cuda")
host = torch.randn(4, 8)
image = torch.randn(2, 3, 8, 8, device="cuda")
linear = nn.Linear(8, 8).cuda()
fixed = nn.Linear(8, 8).cuda().half()
lstm = nn.LSTM(8, 8).cuda()
convolution = nn.Conv2d(3, 4, 3).cuda()
cache = torch.zeros(4, 8, device="cuda", dtype=half)
index = torch.arange(4, device="cuda")
target = torch.zeros(4, dtype=torch.long, device="cuda")


def step() -> None:
    with torch.autocast("cuda", dtype=half):
        y = linear(x)
        assert {y.dtype, (x @ x.t()).dtype, convolution(image).dtype, F.relu(y).dtype} == {half}
        assert lstm(x[None])[0].dtype == half
        assert fixed(x).dtype == half
        attention = F.scaled_dot_product_attention(x[None], x[None], x[None])
        assert attention.dtype == half
        summed = (F.softmax(y, -1), y.sum(), F.layer_norm(y, (8,)), y.exp(), F.mse_loss(y, x))
        assert {value.dtype for value in summed} == {torch.float32}
        assert (x + x).dtype == (host @ host.t()).dtype == torch.float32
        cache[index] = y
        with torch.autocast("cuda", enabled=False):
            assert (x @ x.t()).dtype == torch.float32
        loss = F.cross_entropy(y, target)
    assert loss.dtype == (x @ x.t()).dtype == torch.float32
    loss.backward()
    assert linear.weight.grad is not None
    assert linear.weight.grad.dtype == torch.float32


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    step()
    step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
graph.replay()
