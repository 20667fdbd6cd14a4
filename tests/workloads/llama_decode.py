"""One decode step of a Llama from transformers, with a static key-value cache."""

from __future__ import annotations

import inspect

import torch

from .protocol import SEED, Workload, from_step

NAME = "llama_decode"
DESCRIPTION = "One greedy decode step of transformers' Llama, 16 layers, static cache, fp16"
ROOM_FOR_WARM_UPS = 40


def build(device: str = "cuda", small: bool = False) -> Workload:
    """Build the model, prefill its cache with a random prompt and return the decode step.

    Raises
    ------
    ModuleNotFoundError
        If transformers is not installed (``pip install 'transformers>=5'``).
    """
    from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

    torch.manual_seed(SEED)
    config = LlamaConfig(
        vocab_size=512 if small else 8192,
        hidden_size=64 if small else 1024,
        intermediate_size=128 if small else 2816,
        num_hidden_layers=2 if small else 16,
        num_attention_heads=4 if small else 16,
        num_key_value_heads=2 if small else 8,
        max_position_embeddings=2048,
        attn_implementation="sdpa",
    )
    dtype = torch.float16 if device == "cuda" else torch.float32
    model = LlamaForCausalLM(config).eval().to(device=device, dtype=dtype)
    cache_length, prompt_length = (128, 8) if small else (2048, 32)
    cache = StaticCache(config=config, max_cache_len=cache_length)
    # Renamed during transformers 5: the old name warns in 5.24, the new one is unknown to 5.17.
    renamed = "cache" in inspect.signature(LlamaForCausalLM.forward).parameters
    with_cache = {"cache" if renamed else "past_key_values": cache, "use_cache": True}
    prompt = torch.randint(config.vocab_size, (1, prompt_length), device=device)
    with torch.no_grad():
        prefill = model(input_ids=prompt, **with_cache)
    token = prefill.logits[:, -1:].argmax(-1)
    position = torch.full((1, 1), prompt_length, device=device)

    @torch.no_grad()
    def step() -> torch.Tensor:
        logits: torch.Tensor = model(input_ids=token, position_ids=position, **with_cache).logits
        token.copy_(logits[:, -1:].argmax(-1))
        position.add_(1)
        return logits

    def state() -> list[torch.Tensor]:
        tensors = [token, position]
        for layer in cache.layers:
            tensors += [layer.keys, layer.values, layer.cumulative_length]
        return tensors

    return from_step(
        NAME,
        DESCRIPTION,
        step,
        state,
        # Past its end, writing to the cache is a device assert.
        replays_per_reset=cache_length - prompt_length - ROOM_FOR_WARM_UPS,
        rtol=1e-2,
        atol=1e-2,
    )
