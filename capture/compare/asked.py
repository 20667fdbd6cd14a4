"""What the driver was asked of updates between the graphs of a recording, all answers together."""

from __future__ import annotations

from collections import Counter
from statistics import median

import msgspec

from ..errors import FormatError
from ..model import Recording


class Disagreement(msgspec.Struct, kw_only=True, frozen=True):
    """An update of which the driver said something else than was predicted."""

    before: str
    """Key of the graph that the executable was made of."""
    after: str
    predicted: str
    result: str
    node: str = ""
    """Path in the graph after of the node that the driver named."""


class Asked(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Answers of the driver.

    Attributes
    ----------
    answers : int
    taken : int
        Updates that it took.
    disagreements : list of Disagreement
        Those that were predicted otherwise.
    instantiate_ns, update_ns : int or None
        Medians of the CPU time of both calls, over updates that were taken.
    reasons : list of str
        Why it was not asked of other pairs, each once, the most frequent first.
    """

    answers: int = 0
    taken: int = 0
    disagreements: list[Disagreement] = msgspec.field(default_factory=list)
    instantiate_ns: int | None = None
    update_ns: int | None = None
    reasons: list[str] = msgspec.field(default_factory=list)

    @property
    def agreed(self) -> int:
        """Answers that were predicted."""
        return self.answers - len(self.disagreements)


def asked(recording: Recording) -> Asked | None:
    """Return what the driver said, ``None`` when it was never asked."""
    found = Asked()
    times: tuple[list[int], list[int]] = [], []
    reasons: Counter[str] = Counter()
    for key in recording.stored("updates"):
        try:
            updates = recording.updates(key)
        except FormatError as error:
            reasons[f"answers cannot be read: {error}"] += 1
            continue
        if updates is None:
            continue
        reasons.update(updates.reasons.values())
        reasons.update([updates.refused] if updates.refused else updates.notes)
        for row in updates.rows():
            found.answers += 1
            if row.result == "SUCCESS":
                found.taken += 1
                times[0].append(row.instantiate_ns)
                times[1].append(row.update_ns)
            if row.result != row.predicted:
                found.disagreements.append(
                    Disagreement(
                        before=key,
                        after=row.after,
                        predicted=row.predicted,
                        result=row.result,
                        node=row.node,
                    )
                )
    if times[0]:
        found.instantiate_ns, found.update_ns = (round(median(column)) for column in times)
    found.reasons = [reason for reason, _ in reasons.most_common()]
    return found if found.answers or found.reasons else None
