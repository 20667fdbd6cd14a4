"""Why captures fail: one module per kind of failure, each with a ``KIND``.

To add one, write ``capture/failures/x.py`` with ``KIND = FailureKind(...)``: recordings made from
then on are judged by it, and `cglens record`, `cglens info` and the dashboard show its advice.
Other distributions add kinds through the entry-point group ``cudagraph_lens.failures``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ..registry import discover
from .base import Confidence, FailureKind, Match
from .error_codes import code_name
from .facts import Facts, Frame, Raised

__all__ = [
    "UNKNOWN",
    "Confidence",
    "Facts",
    "FailureKind",
    "Frame",
    "Match",
    "Raised",
    "Verdict",
    "classify",
    "code_name",
    "kind_of",
    "kinds",
]

ENTRY_POINTS = "cudagraph_lens.failures"

UNKNOWN = FailureKind(
    name="unknown",
    title="Reason not known",
    meaning="The evidence fits no kind of failure that this version knows.",
    advice=(
        "Read the error below; CUDA answers every call after the first refused one with "
        "`operation failed due to a previous error during capture`, so look for what ran before.",
        "Run the script once with the capture replaced by a plain call: an error that stays has "
        "nothing to do with the capture.",
    ),
    documentation="https://docs.nvidia.com/dl-cuda-graph/troubleshooting/capture-failures.html",
    matches=lambda facts: Match(Confidence.NONE),
)


class Verdict(NamedTuple):
    """What a failure was judged to be.

    Attributes
    ----------
    kind : str
        Name of a kind, ``"unknown"`` when none fits.
    confidence : str
        ``"certain"`` or ``"likely"``; empty for unknown.
    because : str
    alternatives : list of str
        Names of other kinds that fit, the best first.
    """

    kind: str
    confidence: str
    because: str
    alternatives: list[str]


@lru_cache(maxsize=1)
def kinds() -> dict[str, FailureKind]:
    """Return every kind by name."""
    found: dict[str, Any] = discover(__name__, "KIND", FailureKind, ENTRY_POINTS)
    return found


def kind_of(name: str) -> FailureKind:
    """Return a kind by name; one that this version does not know has no advice.

    Examples
    --------
    >>> kind_of("host_sync").title
    'Host synchronisation'
    """
    return kinds().get(name, UNKNOWN)


def classify(facts: Facts) -> Verdict:
    """Judge what a failure is.

    A kind that fails to judge counts as one that does not fit.

    Examples
    --------
    >>> error = Raised("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (4x3 and 2x1)")
    >>> classify(Facts(first=error, status="active")).kind
    'own_error'
    """
    found: list[tuple[str, Match]] = []
    for name, kind in kinds().items():
        try:
            match = kind.matches(facts)
        except Exception:  # noqa: S112 - another distribution's entry must not hide the others
            continue
        if match.confidence is not Confidence.NONE:
            found.append((name, match))
    found.sort(key=lambda item: -item[1].confidence.rank)
    names = [name for name, _ in found]
    if not found or found[0][1].confidence is Confidence.POSSIBLE:
        because = found[0][1].because if len(found) == 1 else ""
        return Verdict(UNKNOWN.name, "", because, names)
    best = found[0][1]
    others = [] if best.confidence is Confidence.CERTAIN else names[1:]
    return Verdict(names[0], best.confidence.value, best.because, others)
