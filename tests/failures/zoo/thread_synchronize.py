"""Wait for the device in another thread while this one captures.

kind: other_thread
"""

import threading

import torch

x = torch.randn(64, 64, device="cuda")
(x @ x).sum().item()

capturing, done = threading.Event(), threading.Event()


def background() -> None:
    capturing.wait()
    try:
        torch.cuda.synchronize()  # <- fails here
    finally:
        done.set()


worker = threading.Thread(target=background, name="background", daemon=True)
worker.start()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x @ x
    capturing.set()
    done.wait()
    z = y + 1
