"""Replay graphs of one pool in another order than they were captured in.

finding: overwritten_outputs
severity: notice
graph: 1
"""

import torch

x = torch.randn(2048, 512, device="cuda")
torch.softmax(x * 2, -1).sum(-1)  # warm
torch.cuda.synchronize()

pool = torch.cuda.graph_pool_handle()
graphs, outputs = [], []
for depth in (3, 1):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        hidden = x
        for _ in range(depth):
            hidden = torch.softmax(hidden, -1)  # <- node
        outputs += [hidden, hidden.sum(-1)]
    graphs.append(graph)
torch.cuda.synchronize()
for _ in range(6):  # few: where a busy machine pauses in between, an output may have been read
    for graph in reversed(graphs):
        graph.replay()
total = sum(output.sum().item() for output in outputs)
