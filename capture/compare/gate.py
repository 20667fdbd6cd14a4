"""Whether a capture holds a policy, alone or against a baseline."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from ..analysis import Scope, Subject, analyses, run_analysis
from ..analysis.found import finders, findings_in
from ..errors import GraphLensError
from ..model import Graph, GraphInfo, Recording
from ..policy import SEVERITIES, Policy
from .checks import (
    EXIT_CODES,
    POOL_UNKNOWN,
    Check,
    State,
    decided,
    kernel_names,
    key_of,
    named,
    node_count,
    unknown,
    verdict,
)
from .gate_baseline import against
from .measures import pool_bytes
from .recordings import pair_graphs, subject_of

__all__ = ["EXIT_CODES", "Check", "State", "check_graph", "check_recording", "verdict"]


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
    if policy.findings_severity is not None:
        found += _findings_of_recording(recording, policy, chosen)
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
        yield unknown("graphs", words)
    most = policy.coverage_failed_captures
    if most is not None:
        count = len(recording.failed)
        words = f"{count:,} failed captures, expected at most {most:,}"
        yield decided("coverage.failed_captures", "", count <= most, words)
    if not recording.metadata.complete:
        words = "the recording is incomplete: a process ended without notice"
        yield unknown("coverage", words)


def _graphs_missing(missing: list[GraphInfo]) -> Check:
    words = (
        f"{len(missing):,} graphs of the baseline are not there{named([i.key for i in missing])}"
    )
    return decided("coverage.missing_graphs", "", not missing, words)


def _of_graph(subject: Subject, policy: Policy) -> Iterator[Check]:
    key = key_of(subject)
    count = node_count(subject)
    if policy.nodes_most is not None:
        words = f"{count:,} nodes, expected at most {policy.nodes_most:,}"
        yield decided("nodes.most", key, count <= policy.nodes_most, words)
    if policy.nodes_forbidden:
        places: dict[str, list[str]] = {}
        for path, level in subject.graph.walk():
            for position, type_ in enumerate(level.topology.types):
                if type_ in policy.nodes_forbidden:
                    places.setdefault(type_, []).append(
                        f"{path}/{position}" if path else str(position)
                    )
        words = "; ".join(
            f"{len(nodes):,} {type_} nodes{named(nodes)}" for type_, nodes in places.items()
        )
        listed = ", ".join(policy.nodes_forbidden)
        yield decided("nodes.forbidden", key, not places, words or f"no {listed} nodes")
    yield from _kernel_names(subject, policy)
    if policy.coverage_timed is not None and count:
        timed = sum(duration is not None for duration in subject.durations)
        share = timed / max(len(subject.graph), 1)
        words = (
            f"{timed:,} of {len(subject.graph):,} nodes have a duration, "
            f"expected a share of {policy.coverage_timed:g}"
        )
        yield decided("coverage.timed", key, share >= policy.coverage_timed, words)
    if policy.memory_pool_most_bytes is not None:
        rule, reserved = "memory.pool_most_bytes", pool_bytes(subject)
        if reserved is None:
            yield unknown(rule, POOL_UNKNOWN, key)
        else:
            words = (
                f"the pool reserves {reserved:,} bytes, expected at most "
                f"{policy.memory_pool_most_bytes:,}"
            )
            yield decided(rule, key, reserved <= policy.memory_pool_most_bytes, words)
    if policy.findings_severity is not None:
        yield _findings(subject, policy)


def _kernel_names(subject: Subject, policy: Policy) -> Iterator[Check]:
    if not policy.kernels_required and not policy.kernels_forbidden:
        return
    key, names = key_of(subject), kernel_names(subject, "name")
    for part in policy.kernels_required:
        held = any(part in name for name in names)
        words = f"{'a' if held else 'no'} kernel has {part!r} in its name"
        yield decided("kernels.required", key, held, words)
    for part in policy.kernels_forbidden:
        found = sorted(name for name in names if part in name)
        words = f"{len(found):,} kernels have {part!r} in their names{named(found)}"
        yield decided("kernels.forbidden", key, not found, words)


def _findings(subject: Subject, policy: Policy) -> Check:
    """Check what analyses of one graph say, those for faults and those for what could be gained."""
    severe = _severe(policy)
    found = []
    for name, analysis in analyses().items():
        if analysis.scope is not Scope.GRAPH or name in policy.findings_allowed:
            continue
        result = run_analysis(name, subject)
        if result.present and str(result.severity.value) in severe:
            found.append(f"{name} ({result.severity.value}): {result.text(result.summary)}")
    words = "; ".join(found) or f"no finding of severity {policy.findings_severity} or above"
    return decided("findings.severity", key_of(subject), not found, words)


def _severe(policy: Policy) -> tuple[str, ...]:
    return SEVERITIES[SEVERITIES.index(policy.findings_severity or "") :]


def _findings_of_recording(
    recording: Recording, policy: Policy, chosen: list[GraphInfo]
) -> Iterator[Check]:
    """Check what analyses of the whole recording find, for each graph that the policy names."""
    severe = _severe(policy)
    keys = {info.key for info in chosen}
    broken: dict[str, list[str]] = {}
    for name, entry in finders(Scope.RECORDING).items():
        if name in policy.findings_allowed:
            continue
        result = run_analysis(name, recording)
        for item in findings_in(entry, result):
            if str(item.severity.value) in severe and (not item.graph or item.graph in keys):
                words = f"{name} ({item.severity.value}): {result.text(result.summary)}"
                said = broken.setdefault(item.graph, [])
                if words not in said:
                    said.append(words)
    for key, said in broken.items():
        yield decided("findings.severity", key, False, "; ".join(said))
