"""Checks, what they come to, and what all rules ask of a graph."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from ..analysis import Subject
from ..names import family
from ..nodes.kernel import KernelPayload

MOST_NAMED = 5
POOL_UNKNOWN = (
    "what the pool of the graph reserves is not known: record with `cglens record --memory`"
)


class State(StrEnum):
    """What became of a rule."""

    HELD = "held"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    """The capture does not tell."""


class Check(msgspec.Struct, kw_only=True, frozen=True):
    """One rule for one graph, or for the recording."""

    rule: str
    """The policy's key, such as ``"nodes.most"``."""
    state: State
    words: str
    """What was found, and what was expected."""
    graph: str = ""
    """Key; empty for the recording."""


EXIT_CODES = {State.HELD: 0, State.BROKEN: 1, State.UNKNOWN: 2}


def verdict(checks: list[Check]) -> State:
    """Return what all rules come to: broken when any is, else unknown when any is."""
    states = {check.state for check in checks}
    return next((s for s in (State.BROKEN, State.UNKNOWN) if s in states), State.HELD)


def decided(rule: str, graph: str, held: bool, words: str) -> Check:
    """Return a check that held, or is broken."""
    return Check(rule=rule, state=State.HELD if held else State.BROKEN, words=words, graph=graph)


def unknown(rule: str, words: str, graph: str = "") -> Check:
    """Return a check that cannot be told."""
    return Check(rule=rule, state=State.UNKNOWN, words=words, graph=graph)


def named(names: list[str]) -> str:
    """Return the first names after a colon; empty when there are none."""
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f": {', '.join(names[:MOST_NAMED])}{more}"


def key_of(subject: Subject) -> str:
    """Return the key of a graph; empty where it has none."""
    return subject.info.key if subject.info is not None else ""


def node_count(subject: Subject) -> int:
    """Count nodes, those of bodies included."""
    return sum(len(level) for _, level in subject.graph.walk())


def kernel_names(subject: Subject, by: str) -> set[str]:
    """Return the names, or the families, of all kernels of a graph."""
    names = {
        payload.kernel.name
        for _, level in subject.graph.walk()
        for payload in level.payloads
        if isinstance(payload, KernelPayload) and payload.kernel is not None
    }
    return {family(name) for name in names} if by == "family" else names
