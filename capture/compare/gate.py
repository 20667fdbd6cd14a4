"""Whether a capture holds a policy, alone or against a baseline."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from fnmatch import fnmatchcase

import msgspec

from ..analysis import Scope, Subject, analyses, run_analysis
from ..errors import GraphLensError
from ..model import Graph, GraphInfo, Recording
from ..names import family
from ..nodes.kernel import KernelPayload
from ..policy import SEVERITIES, Policy
from .measures import Measure, measures
from .recordings import pair_graphs, subject_of

MOST_NAMED = 5


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


def check_recording(
    recording: Recording, policy: Policy, baseline: Recording | None = None
) -> list[Check]:
    """Check every graph that the policy names, and the recording.

    Parameters
    ----------
    recording : Recording
    policy : Policy
    baseline : Recording, optional
        Rules against a baseline are passed over without one.

    Returns
    -------
    list of Check
        Held rules as well. A graph that cannot be read is one unknown check.
    """
    chosen = _chosen(recording, policy)
    found = list(_of_recording(recording, policy, chosen))
    partners: dict[str, GraphInfo] = {}
    if baseline is not None:
        pairs, missing, _ = pair_graphs(_chosen(baseline, policy), chosen)
        partners = {after.key: before for before, after, _ in pairs}
        if policy.coverage_missing_graphs == "forbid":
            found.append(_graphs_missing(missing))
    for info in chosen:
        before = partners.get(info.key)
        try:
            subject = subject_of(recording, info.key)
            found += _of_graph(subject, policy)
            if baseline is not None and before is not None:
                found += against(subject_of(baseline, before.key), subject, policy)
                baseline.forget(before.key)
        except GraphLensError as error:
            found.append(
                Check(rule="graphs", state=State.UNKNOWN, words=str(error), graph=info.key)
            )
        recording.forget(info.key)
    return found


def check_graph(graph: Graph | Subject, policy: Policy) -> list[Check]:
    """Check one graph without a baseline."""
    subject = graph if isinstance(graph, Subject) else Subject(graph)
    return list(_of_graph(subject, policy))


def _chosen(recording: Recording, policy: Policy) -> list[GraphInfo]:
    return [
        info
        for info in recording.graphs.values()
        if any(fnmatchcase(info.key, pattern) for pattern in policy.graphs)
    ]


def _of_recording(recording: Recording, policy: Policy, chosen: list[GraphInfo]) -> Iterator[Check]:
    if not chosen:
        patterns = ", ".join(policy.graphs)
        words = f"none of {len(recording.graphs):,} graphs has a key that fits {patterns}"
        yield _unknown("graphs", words)
    most = policy.coverage_failed_captures
    if most is not None:
        count = len(recording.failed)
        words = f"{count:,} failed captures, expected at most {most:,}"
        yield _check("coverage.failed_captures", "", count <= most, words)
    if not recording.metadata.complete:
        words = "the recording is incomplete: a process ended without notice"
        yield _unknown("coverage", words)


def _graphs_missing(missing: list[GraphInfo]) -> Check:
    words = (
        f"{len(missing):,} graphs of the baseline are not there{_named([i.key for i in missing])}"
    )
    return _check("coverage.missing_graphs", "", not missing, words)


def _check(rule: str, graph: str, held: bool, words: str) -> Check:
    return Check(rule=rule, state=State.HELD if held else State.BROKEN, words=words, graph=graph)


def _unknown(rule: str, words: str, graph: str = "") -> Check:
    return Check(rule=rule, state=State.UNKNOWN, words=words, graph=graph)


def _named(names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f": {', '.join(names[:MOST_NAMED])}{more}"


def _key(subject: Subject) -> str:
    return subject.info.key if subject.info is not None else ""


def _of_graph(subject: Subject, policy: Policy) -> Iterator[Check]:
    key = _key(subject)
    count = _node_count(subject)
    if policy.nodes_most is not None:
        words = f"{count:,} nodes, expected at most {policy.nodes_most:,}"
        yield _check("nodes.most", key, count <= policy.nodes_most, words)
    if policy.nodes_forbidden:
        places: dict[str, list[str]] = {}
        for path, level in subject.graph.walk():
            for position, type_ in enumerate(level.topology.types):
                if type_ in policy.nodes_forbidden:
                    places.setdefault(type_, []).append(
                        f"{path}/{position}" if path else str(position)
                    )
        words = "; ".join(
            f"{len(nodes):,} {type_} nodes{_named(nodes)}" for type_, nodes in places.items()
        )
        listed = ", ".join(policy.nodes_forbidden)
        yield _check("nodes.forbidden", key, not places, words or f"no {listed} nodes")
    yield from _kernel_names(subject, policy)
    if policy.coverage_timed is not None and count:
        timed = sum(duration is not None for duration in subject.durations)
        share = timed / max(len(subject.graph), 1)
        words = (
            f"{timed:,} of {len(subject.graph):,} nodes have a duration, "
            f"expected a share of {policy.coverage_timed:g}"
        )
        yield _check("coverage.timed", key, share >= policy.coverage_timed, words)
    if policy.findings_severity is not None:
        yield _findings(subject, policy)


def _node_count(subject: Subject) -> int:
    return sum(len(level) for _, level in subject.graph.walk())


def _kernel_names(subject: Subject, policy: Policy) -> Iterator[Check]:
    if not policy.kernels_required and not policy.kernels_forbidden:
        return
    key, names = _key(subject), _kernels(subject, "name")
    for part in policy.kernels_required:
        held = any(part in name for name in names)
        words = f"{'a' if held else 'no'} kernel has {part!r} in its name"
        yield _check("kernels.required", key, held, words)
    for part in policy.kernels_forbidden:
        found = sorted(name for name in names if part in name)
        words = f"{len(found):,} kernels have {part!r} in their names{_named(found)}"
        yield _check("kernels.forbidden", key, not found, words)


def _kernels(subject: Subject, by: str) -> set[str]:
    names = {
        payload.kernel.name
        for _, level in subject.graph.walk()
        for payload in level.payloads
        if isinstance(payload, KernelPayload) and payload.kernel is not None
    }
    return {family(name) for name in names} if by == "family" else names


def _findings(subject: Subject, policy: Policy) -> Check:
    severe = SEVERITIES[SEVERITIES.index(policy.findings_severity or "") :]
    found = []
    for name, analysis in analyses().items():
        if analysis.scope is not Scope.GRAPH or name in policy.findings_allowed:
            continue
        result = run_analysis(name, subject)
        if result.present and str(result.severity.value) in severe:
            found.append(f"{name} ({result.severity.value}): {result.text(result.summary)}")
    words = "; ".join(found) or f"no finding of severity {policy.findings_severity} or above"
    return _check("findings.severity", _key(subject), not found, words)


def against(before: Subject, after: Subject, policy: Policy) -> Iterator[Check]:
    """Check one graph against that of the baseline."""
    key = _key(after)
    if policy.nodes_increase is not None:
        one, other = _node_count(before), _node_count(after)
        words = f"{one:,} nodes in the baseline, {other:,} here"
        yield _check("nodes.increase", key, other <= one * (1 + policy.nodes_increase), words)
    old, new = (_kernels(subject, policy.kernels_by) for subject in (before, after))
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
            yield _unknown(rule, words, key)
            continue
        what = "family" if policy.kernels_by == "family" else "kernel"
        words = f"{len(names):,} {rule.partition('.')[2]} by {what}{_named(names)}"
        yield _check(rule, key, not names, words)
    yield from _times(before, after, policy)


def _times(before: Subject, after: Subject, policy: Policy) -> Iterator[Check]:
    key = _key(after)
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
        if limit is None or not _node_count(after):
            continue
        if item is None:
            words = (
                "not known of both: record both with timings, or measure both with `cglens bench`"
            )
            yield _unknown(rule, words, key)
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
        return _check(rule, key, True, words)
    if spread is None:
        return _unknown(rule, f"{words}; the noise is not known", key)
    if item.difference_ns <= 2 * spread:
        return _unknown(rule, f"{words}; that is within the noise of {spread:,} ns", key)
    return _check(rule, key, False, f"{words}; the noise is {spread:,} ns")
