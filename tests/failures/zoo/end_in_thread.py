"""End the capture in another thread than it began in.

kind: mismatched_end
"""

import threading

import torch

x = torch.randn(64, 64, device="cuda")
x + 1
stream = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
torch.cuda.synchronize()
problems: list[BaseException] = []


def finish() -> None:
    try:
        with torch.cuda.stream(stream):
            graph.capture_end()  # <- fails here
    except RuntimeError as error:
        problems.append(error)


with torch.cuda.stream(stream):
    graph.capture_begin()
    y = x + 1
worker = threading.Thread(target=finish)
worker.start()
worker.join()
for problem in problems:
    raise problem
