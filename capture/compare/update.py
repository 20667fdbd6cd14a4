"""Could ``cuGraphExecUpdate`` take the executable of one graph to another? On paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ..model import Graph, GraphInfo
from ..nodes.kernel import KernelPayload
from .answers import DriverAnswer
from .diff import GraphDiff
from .settings import Plan, Setting, instead, plan
from .unchecked import Unchecked, other_priority
from .update_pairs import update_pairs
from .update_rules import RULES, broken_rules

USE_NODE_PRIORITY = 8
"""``CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY``."""

ELSEWHERE = {"kernel": "kernel_context", "memcpy": "memory_device", "memset": "memory_device"}
"""Rules that graphs captured on different devices break, by type of node."""


class Violation(msgspec.Struct, kw_only=True, frozen=True):
    """A rule that stands against the update."""

    rule: str
    """Name in :data:`capture.compare.update_rules.RULES`."""
    words: str
    """What was found."""
    before: str | None = None
    """Path of the node of the executable's graph."""
    after: str | None = None
    documented: bool = True


class KernelSwap(msgspec.Struct, kw_only=True, frozen=True):
    """A pair whose kernels have different names; the driver takes that without a word."""

    before: str
    after: str
    name_before: str
    name_after: str


class UpdateVerdict(msgspec.Struct, kw_only=True):
    """Whether an update would be taken.

    Attributes
    ----------
    possible : bool
        No documented rule stands against it, as far as recordings tell.
    result : str
        What the driver would answer, a ``CUgraphExecUpdateResult`` without its prefix.
    violations : list of Violation
        All of them; the driver stops at the first.
    swaps : list of KernelSwap
        Pairs that would run another kernel afterwards.
    unchecked : list of str
        What decides as well and is not in recordings.
    instead : list of str
        What else would bring the executable there, or why only a new instantiate does.
    settings : list of Setting
        What would have to be set node by node; with `obstacles` that is not all.
    obstacles : list of str
        Why setting nodes is not enough.
    answer : DriverAnswer or None
        ``None`` where no driver was asked.
    unasked : str
        Why none was.
    """

    possible: bool
    result: str
    violations: list[Violation] = msgspec.field(default_factory=list)
    swaps: list[KernelSwap] = msgspec.field(default_factory=list)
    unchecked: list[str] = msgspec.field(default_factory=list)
    instead: list[str] = msgspec.field(default_factory=list)
    settings: list[Setting] = msgspec.field(default_factory=list)
    obstacles: list[str] = msgspec.field(default_factory=list)
    answer: DriverAnswer | None = None
    unasked: str = ""

    @property
    def disputed(self) -> bool:
        """Whether the driver answered something else than is predicted."""
        return self.answer is not None and self.answer.result != self.result


def update_verdict(
    before: Graph,
    after: Graph,
    info_before: GraphInfo | None = None,
    info_after: GraphInfo | None = None,
    *,
    diff: GraphDiff | None = None,
    flags: int | None = None,
    one_process: bool = False,
) -> UpdateVerdict:
    """Predict whether an executable of `before` could be updated with `after`.

    Parameters
    ----------
    before, after : Graph
    info_before, info_after : GraphInfo, optional
        They say on which device each was captured.
    diff : GraphDiff, optional
        Of the same graphs: it tells what else would help.
    flags : int, optional
        With which the executable was instantiated, where that is known.
    one_process : bool
        Both graphs are of one process, so that their addresses and handles can be compared.

    Examples
    --------
    >>> from capture.model import Topology
    >>> one = Graph(topology=Topology(types=["memset"]), payloads=[None])
    >>> other = Graph(topology=Topology(types=["empty"]), payloads=[None])
    >>> update_verdict(one, one).result, update_verdict(one, other).result
    ('SUCCESS', 'NODE_TYPE_CHANGED')
    """
    violations: list[Violation] = []
    swaps: list[KernelSwap] = []
    unchecked = Unchecked()
    pending = [("", before, "", after)]
    if info_before is not None and info_after is not None:
        one, other = info_before.device, info_after.device
        if one is not None and other is not None and one != other:
            words = f"captured on device {one}, and on device {other}"
            present = {type_ for _, level in before.walk() for type_ in level.topology.types}
            rules = dict.fromkeys(ELSEWHERE[type_] for type_ in ELSEWHERE if type_ in present)
            violations += [_violation(rule, words) for rule in rules]
    while pending:
        path, left, other_path, right = pending.pop()
        unchecked.level(left, right)
        paired = update_pairs(left.topology, right.topology)
        for item in paired.mismatches:
            violations.append(
                _violation(
                    item.rule,
                    item.words,
                    path.rstrip("/") or None if item.before is None else f"{path}{item.before}",
                    None if item.after is None else f"{other_path}{item.after}",
                )
            )
        for here, there in paired.pairs:
            type_ = left.topology.types[here]
            if type_ != right.topology.types[there]:
                continue
            payloads = left.payloads[here], right.payloads[there]
            unchecked.pair(type_, *payloads, flags is not None)
            ends = f"{path}{here}", f"{other_path}{there}"
            violations += [
                _violation(rule, words, *ends) for rule, words in broken_rules(type_, *payloads)
            ]
            if other_priority(*payloads) and flags is not None and flags & USE_NODE_PRIORITY:
                words = f"{payloads[0].priority} before, {payloads[1].priority} after"
                violations.append(_violation("kernel_priority", words, *ends))
            swaps += _swap(*payloads, *ends)
        pending.extend(_bodies(paired.pairs, path, left, other_path, right, violations))
    made = None
    if diff is not None and diff.levels:
        made = plan(diff, one_process)
        elsewhere = dict.fromkeys(
            item.words for item in violations if item.rule in ELSEWHERE.values()
        )
        made.obstacles.extend(elsewhere)
    result = RULES[violations[0].rule].result if violations else "SUCCESS"
    return UpdateVerdict(
        possible=not violations,
        result=result,
        violations=violations,
        swaps=swaps,
        unchecked=list(unchecked.sentences()),
        instead=_instead(violations, diff, made) if violations else [],
        settings=made.settings if made is not None else [],
        obstacles=made.obstacles if made is not None else [],
    )


def _violation(
    rule: str, words: str, before: str | None = None, after: str | None = None
) -> Violation:
    return Violation(
        rule=rule, words=words, before=before, after=after, documented=RULES[rule].documented
    )


def _bodies(
    pairs: list[tuple[int, int]],
    path: str,
    left: Graph,
    other_path: str,
    right: Graph,
    violations: list[Violation],
) -> Iterator[tuple[str, Graph, str, Graph]]:
    if not left.bodies and not right.bodies:
        return
    for here, there in pairs:
        one, other = left.bodies_of(here), right.bodies_of(there)
        if len(one) != len(other):
            words = f"{len(one)} bodies before, {len(other)} after"
            violations.append(_violation("bodies", words, f"{path}{here}", f"{other_path}{there}"))
            continue
        for body, counterpart in zip(one, other, strict=True):
            yield (
                f"{path}{here}/{body.index}/",
                body.graph,
                f"{other_path}{there}/{counterpart.index}/",
                counterpart.graph,
            )


def _swap(before: Any, after: Any, path: str, other_path: str) -> Iterator[KernelSwap]:
    if not isinstance(before, KernelPayload) or not isinstance(after, KernelPayload):
        return
    one, other = before.kernel, after.kernel
    if one is not None and other is not None and one.name != other.name:
        yield KernelSwap(before=path, after=other_path, name_before=one.name, name_after=other.name)


def _instead(violations: list[Violation], diff: GraphDiff | None, made: Plan | None) -> list[str]:
    if made is None or diff is None:
        words = dict.fromkeys(RULES[item.rule].words for item in violations)
        return [f"A new instantiate always helps. No update would: {'; '.join(words)}."]
    return instead(made, diff.in_common)
