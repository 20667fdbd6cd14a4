"""Tensors or calls of another device than the one that captures."""

from __future__ import annotations

import re

from .base import NO, FailureKind, Match, certain, likely
from .error_codes import IMPLICIT
from .facts import Facts

SAME = re.compile(
    r"expected all tensors to be on the same device|tensors? .* (is|are) on cpu|"
    r"expected .* on (the )?(same )?device|is on a different device|device type cpu",
    re.I,
)


def matches(facts: Facts) -> Match:
    """Look for torch's and CUDA's words about devices."""
    if SAME.search(facts.first.message):
        return certain(facts.first.line)
    if "invalid device ordinal" in facts.message or "invalid device id" in facts.message:
        return certain(facts.first.line)
    if facts.code == IMPLICIT and "device" in facts.call:
        return likely(f"`{facts.call}` names a device, on whose default stream it runs")
    return NO


KIND = FailureKind(
    name="wrong_device",
    title="Wrong device",
    meaning=(
        "An operator was given tensors of different devices, or a device that is not there. "
        "It fails in the same way without a capture, unless the warm-up took another path."
    ),
    advice=(
        "Move every input, weight and constant to the capturing device before the capture; "
        "`model.to(device)` does not move what a module keeps in plain attributes.",
        "One capture records one device's current stream: capture per device, or fork a stream "
        "of the other device from the capturing one with events.",
    ),
    documentation="https://docs.pytorch.org/docs/stable/notes/cuda.html",
    matches=matches,
)
