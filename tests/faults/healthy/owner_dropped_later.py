"""Keep the function that a graph calls."""

import ctypes

import torch

x = torch.randn(1 << 20, device="cuda")
x.mul(2)  # warm
torch.cuda.synchronize()
calls, kept = [], []
prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
launch = ctypes.CDLL("libcuda.so.1").cuLaunchHostFunc


def call_on_host(function: object) -> None:
    kept.append(function)
    stream = torch.cuda.current_stream().cuda_stream
    assert launch(ctypes.c_void_p(stream), function, None) == 0


graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
    call_on_host(prototype(calls.append))
    z = y * 2
graph.replay()
torch.cuda.synchronize()
assert calls == [None]
assert kept
