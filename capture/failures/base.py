"""What a kind of failure is, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from .facts import Facts


class Confidence(StrEnum):
    """How sure a kind is that a failure is of it."""

    NONE = ""
    POSSIBLE = "possible"
    """It could be, and nothing speaks for it in particular."""
    LIKELY = "likely"
    CERTAIN = "certain"

    @property
    def rank(self) -> int:
        """Larger is surer."""
        return list(Confidence).index(self)


class Match(NamedTuple):
    """How well a kind fits, and what of the evidence says so."""

    confidence: Confidence
    because: str = ""


NO = Match(Confidence.NONE)


def certain(because: str) -> Match:
    """Return that the evidence leaves nothing else."""
    return Match(Confidence.CERTAIN, because)


def likely(because: str) -> Match:
    """Return that the evidence speaks for it and leaves something else open."""
    return Match(Confidence.LIKELY, because)


def possible(because: str) -> Match:
    """Return that it cannot be ruled out."""
    return Match(Confidence.POSSIBLE, because)


@dataclass(frozen=True)
class FailureKind:
    """One entry of the extension point.

    Attributes
    ----------
    name : str
        Stored in recordings; stays.
    title : str
        For people, a few words.
    meaning : str
        Why CUDA or torch does not allow it, in a sentence or two.
    advice : tuple of str
        What to do, each a sentence; the first helps most often. Code stands in backticks.
    documentation : str
        Address of the page that has more.
    matches : callable
        ``matches(facts)`` returns how well the kind fits, and why.
    """

    name: str
    title: str
    meaning: str
    advice: tuple[str, ...]
    documentation: str
    matches: Callable[[Facts], Match]


CAPTURE_FAILURES = "https://docs.nvidia.com/dl-cuda-graph/troubleshooting/capture-failures.html"
"""NVIDIA's page on errors of captures with PyTorch."""
CONSTRAINTS = "https://docs.nvidia.com/dl-cuda-graph/cuda-graph-basics/constraints.html"
"""What CUDA does not allow in a graph, and why."""
STREAM_API = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__STREAM.html"
"""``cudaStreamBeginCapture``, capture modes, unsafe calls."""
TORCH_NOTES = "https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs"
"""Constraints of whole-network capture, pools, generators, streams."""
