"""Times, critical paths and findings of two graphs, with the noise of what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ..analysis import Scope, Severity, Subject, analyses, run_analysis
from ..distributions import differs, summarise
from ..memory.sums import pool_sums

SAMPLED = (
    ("replay, untraced", "timings", "untraced_replay_ns"),
    ("replay, traced", "timings", "makespan_ns"),
    ("replay, warm L2", "benchmark", "replay_ns"),
    ("replay, cold L2", "benchmark", "cold_replay_ns"),
    ("launch, on the CPU", "benchmark", "launch_cpu_ns"),
    ("instantiate", "benchmark", "instantiate_ns"),
)
"""Words for a quantity, the evidence that holds its samples, and the field."""


class Measure(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One quantity of both graphs.

    Attributes
    ----------
    name : str
    before_ns, after_ns : int
        Medians.
    spread_ns : int or None
        The larger interquartile range; of a critical path, that of the replays that it was
        computed from. ``None`` where nothing was sampled.
    samples : tuple of int
        How many of each.
    """

    name: str
    before_ns: int
    after_ns: int
    spread_ns: int | None = None
    samples: tuple[int, int] = (0, 0)

    @property
    def difference_ns(self) -> int:
        """After less before."""
        return self.after_ns - self.before_ns

    @property
    def differs(self) -> bool | None:
        """Whether the difference is more than noise; ``None`` where the noise is not known."""
        if self.spread_ns is None or min(self.samples) < 2:
            return None
        return differs(self.difference_ns, self.spread_ns)


class Size(msgspec.Struct, kw_only=True, frozen=True):
    """One amount of memory of both graphs."""

    name: str
    before_bytes: int
    after_bytes: int


class Finding(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A result of an analysis that asks for attention on one side or both."""

    analysis: str
    title: str
    severity_before: str = ""
    """Empty where the analysis found nothing or could not look."""
    severity_after: str = ""
    before: str = ""
    """What it says, in one sentence."""
    after: str = ""


def measures(before: Subject, after: Subject) -> list[Measure]:
    """Return what was measured of both. Empty when nothing was."""
    found = []
    for name, evidence, column in SAMPLED:
        sides = [_samples(subject, evidence, column) for subject in (before, after)]
        summaries = [summarise(samples) for samples in sides]
        one, other = summaries
        if one is None or other is None:
            continue
        found.append(
            Measure(
                name=name,
                before_ns=one.median,
                after_ns=other.median,
                spread_ns=max(one.iqr, other.iqr),
                samples=(one.count, other.count),
            )
        )
    paths = [_critical_path(subject) for subject in (before, after)]
    if paths[0] is not None and paths[1] is not None:
        # It is made of what the traced replays took, so it is as sure as they are.
        traced = next((item for item in found if item.name == "replay, traced"), None)
        found.append(
            Measure(
                name="critical path",
                before_ns=paths[0],
                after_ns=paths[1],
                spread_ns=traced.spread_ns if traced is not None else None,
                samples=traced.samples if traced is not None else (0, 0),
            )
        )
    return found


def sizes(before: Subject, after: Subject) -> list[Size]:
    """Return what memory both are known to take."""
    found = []
    for name, size in (
        ("pool, reserved", lambda subject: pool_bytes(subject, "reserved_bytes")),
        ("pool, allocated", lambda subject: pool_bytes(subject, "allocated_bytes")),
        ("executable", _executable_bytes),
    ):
        one, other = size(before), size(after)
        if one is not None and other is not None:
            found.append(Size(name=name, before_bytes=one, after_bytes=other))
    return found


def pool_bytes(subject: Subject, column: str = "reserved_bytes") -> int | None:
    """Return a sum of the graph's own pool when it was last looked at.

    ``None`` where memory was not looked at or the graph has no pool of its own. A pool that
    several graphs share is told of each.
    """
    memory = subject.memory
    if memory is None or memory.pool is None:
        return None
    own = [item for item in pool_sums(memory) if item.pool == memory.pool]
    if not own:
        return None
    last = max(item.mark for item in own)
    return sum(int(getattr(item, column)) for item in own if item.mark == last)


def _executable_bytes(subject: Subject) -> int | None:
    return subject.benchmark.executable_bytes if subject.benchmark is not None else None


def _samples(subject: Subject, evidence: str, column: str) -> list[int]:
    held = subject.timings if evidence == "timings" else subject.benchmark
    samples: list[int] = getattr(held, column) if held is not None else []
    return samples


def _critical_path(subject: Subject) -> int | None:
    if not subject.is_timed:
        return None
    result = run_analysis("critical_path", subject, rows=0, gaps=False)
    figure = result.figures.get("predicted")
    return figure.value if figure is not None and isinstance(figure.value, int) else None


def findings(before: Subject, after: Subject) -> list[Finding]:
    """Return what analyses find that is more than information, on either side."""
    found = []
    for name, analysis in analyses().items():
        if analysis.scope is not Scope.GRAPH:
            continue
        texts = [_attention(name, subject) for subject in (before, after)]
        if any(severity for severity, _ in texts):
            (one, text), (other, words) = texts
            found.append(
                Finding(
                    analysis=name,
                    title=analysis.title,
                    severity_before=one,
                    severity_after=other,
                    before=text,
                    after=words,
                )
            )
    return found


def _attention(name: str, subject: Subject) -> tuple[str, str]:
    result = run_analysis(name, subject)
    if not result.present or result.severity is Severity.INFO:
        return "", ""
    return str(result.severity.value), result.text(result.summary)


def node_spread(subject: Subject, position: int) -> int | None:
    """Return the noise of a node's duration: half of what lies between minimum and 95th percentile.

    Timings hold no interquartile range of a node; this one is rather too wide than too narrow.
    """
    rows = subject.rows_of(position)
    low, high = subject.column("minimum_ns"), subject.column("p95_ns")
    if not rows or not low or not high:
        return None
    return sum(max(high[row] - low[row], 0) for row in rows) // 2


def plain(items: list[Any]) -> Iterator[Any]:
    """Yield structs as plain data."""
    for item in items:
        yield msgspec.to_builtins(item)
