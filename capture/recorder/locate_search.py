"""The first node of a graph with which a replay goes wrong, by running parts of it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..located import Run

GOOD = "clean"
BAD = ("fault", "hang", "died")
MOST_RUNS = 40


class Outcome(NamedTuple):
    """How a run of a part ended.

    Attributes
    ----------
    what : str
        ``"clean"``; ``"fault"``, ``"hang"`` or ``"died"`` (the process did); ``"refused"``,
        ``"outside"`` (the device was broken before) or ``"lost"``: nothing can be said.
    place : int
        In the order of nodes, of the one that ran; -1 where all ran at once.
    detail : str
    wall_ms : int
    path : str
        Of a node inside that one, a child graph.
    """

    what: str
    place: int = -1
    detail: str = ""
    wall_ms: int = 0
    path: str = ""


class Found(NamedTuple):
    """What a search came to.

    Attributes
    ----------
    place : int or None
        In the order of nodes; ``None`` where no node was found.
    decided : bool
        Whether the nodes before it were seen to be well together, and not so with it.
    runs : list of Run
    notes : list of str
        What was not decided, and why.
    path : str
        Of a node inside a child graph, where one was seen to be guilty.
    """

    place: int | None
    decided: bool
    runs: list[Run]
    notes: list[str]
    path: str = ""


Attempt = Callable[[str, int], Outcome]
"""``attempt(step, prefix)`` runs ``"walk"``, or a ``"prefix"`` of so many nodes."""


class _Undecided(Exception):
    """A run said nothing."""


class _Search:
    def __init__(self, count: int, attempt: Attempt, most_runs: int) -> None:
        self.count = count
        self.attempt = attempt
        self.most_runs = most_runs
        self.runs: list[Run] = []
        self.notes: list[str] = []
        self.path = ""
        self.walked = -1
        self.good, self.bad = 0, count + 1
        """Lengths of prefixes: the longest one known to be well, the shortest known not to be."""

    def run(self, step: str, prefix: int = 0) -> Outcome:
        if len(self.runs) >= self.most_runs:
            raise _Undecided(f"{self.most_runs} runs were made, which is as many as are allowed")
        outcome = self.attempt(step, prefix)
        part = (
            "node by node"
            if step == "walk"
            else "all nodes at once"
            if prefix == self.count
            else f"the first {prefix} of {self.count} nodes at once"
        )
        self.runs.append(
            Run(part=part, what=outcome.what, detail=outcome.detail, wall_ms=outcome.wall_ms)
        )
        if outcome.what != GOOD and outcome.what not in BAD:
            raise _Undecided(f"{part}: {outcome.detail or outcome.what}")
        return outcome

    def prefix(self, count: int) -> bool:
        """Run a prefix; say whether it was well."""
        if self.run("prefix", count).what == GOOD:
            if count >= self.bad:
                raise _Undecided(
                    f"the first {count} nodes were well, and fewer were not: it does not happen "
                    f"every time"
                )
            self.good = max(self.good, count)
            return True
        self.bad = min(self.bad, count)
        return False

    def search(self) -> tuple[int | None, bool]:
        walked = self.run("walk")
        self.path = walked.path
        guess = self.walked = walked.place if walked.what in BAD else -1
        if guess >= 0:
            if not self.prefix(guess + 1):
                if guess == 0 or self.prefix(guess):
                    return guess, True
            elif self.good < self.count and self.prefix(self.count):
                self.notes.append(
                    "run at once all nodes are well; one by one this node is not: what it needs "
                    "may come from a node that runs at the same time, or it does not happen every "
                    "time"
                )
                return guess, False
        elif self.prefix(self.count):
            self.notes.append(
                "a clone of the graph ran without it, node by node and at once: it does not happen "
                "every time, or it is not this graph's nodes"
            )
            return None, False
        while self.bad - self.good > 1:
            self.prefix((self.good + self.bad) // 2)
        place = self.bad - 1
        if guess < 0:
            self.notes.append(
                "node by node nothing goes wrong: it takes nodes that run at the same time, or "
                "close one after another"
            )
        elif place != guess:
            self.notes.append(
                f"node by node it is node number {guess + 1} in order that goes wrong, at once "
                f"number {place + 1}: it depends on what runs at the same time"
            )
        return place, place == guess


def search(count: int, attempt: Attempt, most_runs: int = MOST_RUNS) -> Found:
    """Find the first guilty node.

    One run goes node by node, since the first that breaks the device names itself. Two more say
    whether all nodes before it are well when they run at once, and are not with it. Where these
    disagree, prefixes are bisected.

    Parameters
    ----------
    count : int
        Nodes.
    attempt : callable
    most_runs : int

    Examples
    --------
    >>> def attempt(step, prefix):
    ...     if step == "walk":
    ...         return Outcome("fault", 3)
    ...     return Outcome("fault" if prefix > 3 else "clean")
    >>> found = search(8, attempt)
    >>> found.place, found.decided, len(found.runs)
    (3, True, 3)
    """
    state = _Search(count, attempt, most_runs)
    place: int | None = None
    decided = False
    try:
        place, decided = state.search()
    except _Undecided as error:
        state.notes.append(f"the search stopped: {error}")
        if state.bad <= count:
            place = state.bad - 1
            between: Sequence[int] = (state.good, state.bad - 1)
            state.notes.append(
                f"the guilty node is one of number {between[0] + 1} to {between[1] + 1} in order"
            )
    path = state.path if place is not None and place == state.walked else ""
    return Found(place, decided, state.runs, state.notes, path)
