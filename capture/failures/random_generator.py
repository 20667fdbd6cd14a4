"""A random generator that the graph does not know, or that is seeded or read inside."""

from __future__ import annotations

import re

from .base import NO, FailureKind, Match, certain, likely
from .error_codes import UNSUPPORTED
from .facts import Facts

WORDS = re.compile(
    r"CUDAGeneratorImpl|cuda generator|philox|rng state|generator.*(captur|regist)|"
    r"(captur|regist)\w*.*generator|seed.*captur|captur.*seed|increase offset",
    re.I | re.S,
)
CALLS = (
    "manual_seed",
    "manual_seed_all",
    "seed",
    "get_rng_state",
    "set_rng_state",
    "initial_seed",
    "fork_rng",
    "get_state",
    "set_state",
)


def matches(facts: Facts) -> Match:
    """Look for torch's words about generators."""
    if facts.elsewhere:
        return NO
    if WORDS.search(facts.first.message):
        return certain(f"torch says: {facts.first.line}")
    of_state = facts.inside("torch/cuda/random.py:get_rng_state", "torch/cuda/random.py:seed")
    if of_state or (facts.code == UNSUPPORTED and facts.method in CALLS):
        return likely(f"`{facts.call}` reads or sets the state of a generator")
    return NO


KIND = FailureKind(
    name="random_generator",
    title="Random generator not registered",
    meaning=(
        "A graph draws its random numbers from a state on the GPU that torch advances before each "
        "replay. That works for the default generator and for registered ones; seed and state "
        "cannot be read or changed inside the capture."
    ),
    advice=(
        "Register a generator of your own with the graph before the capture: "
        "`graph.register_generator_state(generator)`.",
        "Seed, save and restore generators before the capture and between replays.",
        "Activation checkpointing inside a capture needs `preserve_rng_state=False`.",
    ),
    documentation="https://docs.pytorch.org/docs/stable/generated/torch.cuda.CUDAGraph.html",
    matches=matches,
)
