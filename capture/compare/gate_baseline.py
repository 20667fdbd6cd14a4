"""Rules of a policy against a baseline."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis import Subject
from ..policy import Policy
from .checks import POOL_UNKNOWN, Check, decided, kernel_names, key_of, named, node_count, unknown
from .measures import Measure, measures, pool_bytes


def against(before: Subject, after: Subject, policy: Policy) -> Iterator[Check]:
    """Check one graph against that of the baseline."""
    key = key_of(after)
    if policy.nodes_increase is not None:
        one, other = node_count(before), node_count(after)
        words = f"{one:,} nodes in the baseline, {other:,} here"
        yield decided("nodes.increase", key, other <= one * (1 + policy.nodes_increase), words)
    old, new = (kernel_names(subject, policy.kernels_by) for subject in (before, after))
    unread = any(
        type_ == "kernel" and payload is None
        for subject in (before, after)
        for _, level in subject.graph.walk()
        for type_, payload in zip(level.topology.types, level.payloads, strict=True)
    )
    for rule, how, names in (
        ("kernels.new", policy.kernels_new, sorted(new - old)),
        ("kernels.missing", policy.kernels_missing, sorted(old - new)),
    ):
        if how == "allow":
            continue
        if unread and not names:
            words = "some kernel nodes were not read: which kernels there are is not known"
            yield unknown(rule, words, key)
            continue
        what = "family" if policy.kernels_by == "family" else "kernel"
        words = f"{len(names):,} {rule.partition('.')[2]} by {what}{named(names)}"
        yield decided(rule, key, not names, words)
    yield from _times(before, after, policy)
    if policy.memory_pool_increase is not None:
        rule, one_pool, other_pool = "memory.pool_increase", pool_bytes(before), pool_bytes(after)
        if one_pool is None or other_pool is None:
            yield unknown(rule, POOL_UNKNOWN, key)
        else:
            most = one_pool * (1 + policy.memory_pool_increase)
            words = (
                f"the pool reserves {one_pool:,} bytes in the baseline, {other_pool:,} here, "
                f"expected at most {policy.memory_pool_increase:+.1%}"
            )
            yield decided(rule, key, other_pool <= most, words)


def _times(before: Subject, after: Subject, policy: Policy) -> Iterator[Check]:
    key = key_of(after)
    found = {item.name: item for item in measures(before, after)}
    replay = next(
        (
            found[name]
            for name in ("replay, warm L2", "replay, untraced", "replay, traced")
            if name in found
        ),
        None,
    )
    traced = found.get("replay, traced")
    path = found.get("critical path")
    for rule, limit, item, noise in (
        ("time.replay_increase", policy.time_replay_increase, replay, replay),
        ("time.critical_path_increase", policy.time_critical_path_increase, path, traced),
    ):
        if limit is None or not node_count(after):
            continue
        if item is None:
            words = (
                "not known of both: record both with timings, or measure both with `cglens bench`"
            )
            yield unknown(rule, words, key)
        else:
            yield _time(rule, key, limit, item, noise)


def _time(rule: str, key: str, limit: float, item: Measure, noise: Measure | None) -> Check:
    spread = noise.spread_ns if noise is not None and min(noise.samples) >= 2 else None
    change = item.difference_ns / item.before_ns if item.before_ns else 0.0
    words = (
        f"{item.name}: {item.before_ns:,} ns in the baseline, {item.after_ns:,} ns here "
        f"({change:+.1%}), expected at most {limit:+.1%}"
    )
    if item.difference_ns <= limit * item.before_ns:
        return decided(rule, key, True, words)
    if spread is None:
        return unknown(rule, f"{words}; the noise is not known", key)
    if item.difference_ns <= 2 * spread:
        return unknown(rule, f"{words}; that is within the noise of {spread:,} ns", key)
    return decided(rule, key, False, f"{words}; the noise is {spread:,} ns")
