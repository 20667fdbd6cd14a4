"""A small server whose answers go wrong after a while, without any error.

Shows the fault that is hardest to find with CUDA graphs. ``capture`` builds the attention mask,
captures the model with it and returns the graph, the request's tensor and the answer. Nobody
keeps the mask. A graph keeps addresses, not tensors: the mask is freed as ``capture`` returns, and
the first answers are right because nothing has been written there yet. Then answers are collected
in groups, the first group gets the memory that the mask had, and every replay after it reads
answers as its mask. README, "A stale pointer, from symptom to line", finds the line.
"""

from __future__ import annotations

import torch
from torch import nn

TOKENS, WIDTH = 1024, 256
GROUP = 4  # A group of answers is as large as the mask.
ROUNDS = 12


class Attention(nn.Module):
    """One head of attention over a request, with a mask that is added to the scores."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Map (tokens, width) to the same shape."""
        scores = self.query(x) @ self.key(x).t() / WIDTH**0.5
        mixed: torch.Tensor = torch.softmax(scores + mask, dim=-1) @ self.value(x)
        return x + mixed


def causal_mask() -> torch.Tensor:
    """Return (tokens, tokens) with -inf wherever a token would see a later one."""
    mask = torch.full((TOKENS, TOKENS), float("-inf"), device="cuda", dtype=torch.half)
    return mask.triu_(1)


def capture(model: Attention) -> tuple[torch.cuda.CUDAGraph, torch.Tensor, torch.Tensor]:
    """Warm up and capture; return the graph, and where requests go and answers come."""
    request = torch.zeros(TOKENS, WIDTH, device="cuda", dtype=torch.half)
    mask = causal_mask()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(request, mask)
    torch.cuda.current_stream().wait_stream(side)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        answer = model(request, mask)
    return graph, request, answer


@torch.no_grad()
def main() -> None:
    """Answer requests by replays, collect the answers, compare them all with eager."""
    torch.manual_seed(0)
    with torch.device("cuda"):
        model = Attention().half().eval()
    graph, request, answer = capture(model)

    requests, groups = [], []
    for _ in range(ROUNDS):
        answers = []
        for _ in range(GROUP):
            requests.append(torch.randn_like(request))
            request.copy_(requests[-1])
            graph.replay()
            answers.append(answer.clone())
        groups.append(torch.stack(answers))

    mask = causal_mask()
    wrong = [
        number
        for number, (asked, answered) in enumerate(zip(requests, torch.cat(groups), strict=True))
        if not torch.allclose(answered, model(asked, mask), rtol=1e-2, atol=1e-2)
    ]
    print(f"stale_input: {len(wrong)} of {len(requests)} answers differ from eager", end="")
    print(f", the first is number {wrong[0] + 1}" if wrong else "")


if __name__ == "__main__":
    main()
