"""A whole training step of a small GPT in one graph: forward, backward and AdamW."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from .protocol import SEED, Workload, from_step

NAME = "gpt_train"
DESCRIPTION = "Training step of an own GPT with dropout: forward, backward, capturable AdamW"


class Block(nn.Module):
    """Pre-norm transformer block with causal attention."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm_attention, self.norm_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, tokens, width) to the same shape."""
        batch, tokens, width = x.shape
        split = (batch, tokens, self.heads, width // self.heads)
        parts = self.qkv(self.norm_attention(x)).chunk(3, dim=-1)
        query, key, value = (part.view(split).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        mixed = mixed.transpose(1, 2).reshape(batch, tokens, width)
        x = x + self.dropout(self.out(mixed))
        hidden: torch.Tensor = self.down(F.gelu(self.up(self.norm_mlp(x))))
        return x + self.dropout(hidden)


class GPT(nn.Module):
    """Decoder-only language model with learned positions."""

    def __init__(
        self, vocabulary: int, tokens: int, width: int, heads: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Map token ids (batch, tokens) to logits (batch, tokens, vocabulary)."""
        x = self.token(tokens) + self.position.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits: torch.Tensor = self.head(self.norm(x))
        return logits


def build(device: str = "cuda", small: bool = False) -> Workload:
    """Build the model, its optimizer and one static batch; the step trains on that batch."""
    torch.manual_seed(SEED)
    vocabulary, tokens, width, heads, layers, batch = (
        (64, 16, 32, 2, 2, 2) if small else (4096, 256, 512, 8, 6, 8)
    )
    model = GPT(vocabulary, tokens, width, heads, layers, dropout=0.1).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, capturable=device == "cuda")
    data = torch.randint(vocabulary, (batch, tokens + 1), device=device)

    def step() -> torch.Tensor:
        # None, not zero: the backward pass then allocates the gradients in the graph's pool.
        optimizer.zero_grad(set_to_none=True)
        logits = model(data[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), data[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    def state() -> list[torch.Tensor]:
        tensors: list[torch.Tensor] = list(model.parameters())
        for parameter in model.parameters():
            tensors += [v for v in optimizer.state[parameter].values() if torch.is_tensor(v)]
        return tensors

    # AdamW divides by the gradient's own size, so noise in the sums of a tiny gradient can move
    # a weight by up to the learning rate in each of the compared steps.
    return from_step(NAME, DESCRIPTION, step, state, rtol=1e-2, atol=1e-3)
