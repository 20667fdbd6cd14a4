"""A full training step in one graph: forward, backward and the AdamW update.

Shows what training asks for beyond inference: a capturable optimizer, gradients that are
allocated in the graph's pool (set to None before the capture), and data that is copied into
static tensors between replays.
"""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, CLASSES, BATCH = 512, 16, 64
STEPS = 45


def make_optimizer(model: nn.Module) -> torch.optim.AdamW:
    """Return an AdamW whose step count lives on the GPU, so that a replay advances it."""
    return torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=True)


def make_batches() -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs (steps, batch, width) and labels that a linear map gives them."""
    inputs = torch.randn(STEPS, BATCH, WIDTH, device="cuda")
    return inputs, (inputs @ torch.randn(WIDTH, CLASSES, device="cuda")).argmax(-1)


def main() -> None:
    """Train by replays and, from the same weights, without a graph; compare the losses."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(WIDTH, 4 * WIDTH),
        nn.GELU(),
        nn.LayerNorm(4 * WIDTH),
        nn.Linear(4 * WIDTH, WIDTH),
        nn.GELU(),
        nn.Linear(WIDTH, CLASSES),
    ).cuda()
    optimizer = make_optimizer(model)
    inputs, labels = make_batches()
    static_input, static_label = inputs[0].clone(), labels[0].clone()

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(static_input), static_label)
        loss.backward()
        optimizer.step()
        return loss.detach()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    # The warm-up trained already: the eager twin starts from here, with the optimizer's state.
    twin = copy.deepcopy(model)
    twin_optimizer = make_optimizer(twin)
    twin_optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static_loss = step()

    for number in range(STEPS):
        static_input.copy_(inputs[number])
        static_label.copy_(labels[number])
        graph.replay()

    for number in range(STEPS):
        twin_optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(twin(inputs[number]), labels[number])
        loss.backward()
        twin_optimizer.step()

    torch.testing.assert_close(static_loss, loss.detach(), rtol=2e-2, atol=2e-2)
    print(f"train_step: {STEPS} replays, last loss {static_loss.item():.4f}, eager {loss:.4f}")


if __name__ == "__main__":
    main()
