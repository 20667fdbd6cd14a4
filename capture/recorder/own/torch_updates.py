"""Asks the driver which executables could be updated to which graphs; nothing is launched."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import perf_counter_ns as clock
from typing import Any

from ...codec import dump
from ...compare.update import update_verdict
from ...driver.replay_protocol import ReplayDriver
from ...errors import DriverError, GraphLensError
from ...updates import Answer, Updates
from .setup import TORCH_FLAGS, Budget
from .torch_keep import Keeper, Kept
from .torch_prepare import freed, on_device
from .update_questions import questions

DIED = "the process died while the driver was asked: answers up to then are here"
BUDGET_GRAPHS = 8
"""A process may take as long for all questions as for measuring so many graphs."""


def ask(
    keeper: Keeper,
    driver: ReplayDriver,
    write: Callable[..., None],
    tell: Callable[[str], None],
) -> None:
    """Ask of all kept graphs that could be cloned, and write what the driver says.

    Parameters
    ----------
    keeper : Keeper
    driver : ReplayDriver
    write : callable
        ``write(kind, serial, **fields)`` appends to every journal.
    tell : callable
        Says a line to the user.
    """
    for serial, why in keeper.left_out:
        write("updates_absent", serial, text=why)
    asked: list[Kept] = []
    for kept in keeper.kept:
        why = kept.refused if not kept.clone else kept.unheld or freed(driver, kept)
        if why:
            document = Updates(graph=kept.key, refused=f"the driver was not asked: {why}")
            write("updates", kept.serial, document=dump(document))
        else:
            asked.append(kept)
    pairs, left_out = questions([kept.graph for kept in asked])
    if pairs:
        tell(f"asking the driver of {len(pairs)} updates among {len(asked)} graphs")
    session = _Questions(asked, driver, write, Budget(BUDGET_GRAPHS * keeper.request.seconds))
    session.run(pairs, left_out)


class _Questions:
    def __init__(
        self,
        asked: list[Kept],
        driver: ReplayDriver,
        write: Callable[..., None],
        budget: Budget,
    ) -> None:
        self._asked = asked
        self._driver = driver
        self._write = write
        self._budget = budget
        self._places: list[dict[int, str] | None] = [None] * len(asked)
        self._found = [Updates(graph=kept.key, flags=TORCH_FLAGS) for kept in asked]

    def run(self, pairs: list[tuple[int, int]], left_out: int) -> None:
        by_graph: dict[int, list[int]] = {place: [] for place in range(len(self._asked))}
        for before, after in pairs:
            by_graph[before].append(after)
        for before, others in by_graph.items():
            kept, found = self._asked[before], self._found[before]
            if left_out:
                found.notes.append(
                    f"the driver was asked of {len(pairs)} pairs of graphs, not of {left_out} more"
                )
            found.notes.append(DIED)
            self._put(kept, found)
            try:
                with on_device(kept.device):
                    self._of(before, others)
            except GraphLensError as error:
                found.notes.append(f"asking stopped: {error}")
            found.notes.remove(DIED)
            self._put(kept, found)

    def _of(self, before: int, others: list[int]) -> None:
        kept, found = self._asked[before], self._found[before]
        for after in others:
            other = self._asked[after]
            if kept.device != other.device:
                found.reasons[other.key] = "it was captured on another device"
            elif not self._budget:
                found.reasons[other.key] = "the time for asking was up"
            else:
                try:
                    found.put(self._answer(found, before, after), other.serial)
                except DriverError as error:
                    found.reasons[other.key] = f"the driver did not answer: {error}"

    def _answer(self, found: Updates, before: int, after: int) -> Answer:
        """Ask with an executable of its own: one that was updated is of another graph."""
        kept, other, driver = self._asked[before], self._asked[after], self._driver
        start = clock()
        try:
            executable = driver.instantiate(kept.clone, found.flags)
        except DriverError:
            if not found.flags:
                raise
            found.flags = 0
            executable = driver.instantiate(kept.clone, 0)
        made = clock()
        try:
            answer = driver.update(executable, other.clone)
            updated = clock()
        finally:
            with suppress(DriverError):
                driver.destroy_executable(executable)
        predicted = update_verdict(kept.graph, other.graph, flags=found.flags)
        return Answer(
            after=other.key,
            predicted=predicted.result,
            result=answer.result,
            node=self._path(after, answer.node),
            from_node=self._path(after, answer.from_node),
            instantiate_ns=made - start,
            update_ns=updated - made,
        )

    def _path(self, place: int, node: int) -> str:
        """Return the path of a clone's node, inside its child graphs too."""
        if not node:
            return ""
        places = self._places[place]
        if places is None:
            places = self._places[place] = _paths(self._driver, self._asked[place])
        return places.get(node, "")

    def _put(self, kept: Kept, found: Updates) -> None:
        self._write("updates", kept.serial, document=dump(found))


def _paths(driver: Any, kept: Kept) -> dict[int, str]:
    found: dict[int, str] = {}
    pending = [("", kept.graph, kept.nodes)]
    while pending:
        prefix, graph, nodes = pending.pop()
        for position, node in enumerate(nodes):
            found[node] = f"{prefix}{position}"
            if graph.topology.types[position] == "child_graph":
                (inside,) = driver.child_graphs([node]).values
                body = graph.bodies_of(position)[0]
                inner = driver.nodes(inside or 0)
                pending.append((f"{prefix}{position}/{body.index}/", body.graph, inner))
    return found
