"""A graph's nodes against the operators of the same function without a graph."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import WorkloadError
from ...memory.addresses import addresses, blocks_of
from ..torch_allocator import memory_segments
from .locator import Locator
from .saved_state import SavedState, host_bytes, plan
from .target import Target
from .torch_op_log import CUDA, OperatorLog, Row, TensorAt
from .torch_tensors_at import Values
from .waiting import Waiting

MOST_REPLAYS = 20
"""Replays that are compared."""
OTHERS = (
    "operators before that gave equal results; a function that torch.compile compiled calls others "
    "while operators are watched, and cannot be compared"
)
MOST_KEPT_BYTES = 4 << 30
"""Of results that an eager run keeps for comparing."""


class AgainstEager:
    """Compares replays of a graph with calls of a function, operator by operator.

    Parameters
    ----------
    locator : Locator
    values : Values, optional
    """

    def __init__(self, locator: Locator, values: Values | None = None) -> None:
        self.locator = locator
        self.values = values or Values()
        self.compared = 0

    def __call__(self, waiting: Waiting, target: Target) -> None:
        """Run the function, put memory back, then run node by node and compare.

        Memory is afterwards as the replay would have left it. An outcome is written at the first
        difference.

        Raises
        ------
        DriverError, HungError
            As :meth:`capture.recorder.own.locator.Locator.nodes` does.
        WorkloadError
            There is nothing to compare with.
        """
        log: OperatorLog | None = target.log
        call = target.call or self._named()
        if log is None or not log.rows:
            raise WorkloadError("no operator was seen while the graph was captured")
        if self.compared >= MOST_REPLAYS:
            raise WorkloadError(f"{self.compared} replays were compared and were as eager is")
        self.compared += 1
        driver = waiting.driver
        blocks = blocks_of(memory_segments(), None)
        saved = plan(driver, addresses(target.graph), blocks)
        state = SavedState(driver, saved.regions, host_bytes())
        try:
            eager = _Eager(self.values, log.rows)
            with _random_state(self.values.device), self.values.pool_only():
                try:
                    eager.run(call)
                except Exception as error:
                    raise WorkloadError(
                        f"the function failed without a graph: {type(error).__name__}: {error}"
                    ) from error
            waiting.idle()
            driver.synchronize_device()
            state.restore(waiting.stream)
            waiting.idle()
            _Comparison(self.locator, self.values, target, log.rows, eager, saved.notes).walk(
                waiting, driver
            )
        finally:
            state.close()

    def _named(self) -> Callable[[], Any]:
        name = self.locator.request.function
        found: Any = getattr(sys.modules.get("__main__"), name, None) if name else None
        if not callable(found):
            raise WorkloadError(
                f"the script has no function {name!r}"
                if name
                else "the graph was captured by the workload itself: name, with --eager, the "
                "function without arguments that computes the same"
            )
        call: Callable[[], Any] = found
        return call


@contextmanager
def _random_state(device: str) -> Iterator[None]:
    import torch

    source: Any = torch.cuda if device == CUDA else torch
    before = source.get_rng_state()
    try:
        yield
    finally:
        source.set_rng_state(before)


class _Eager:
    """One call of the function, with copies of what its operators gave."""

    def __init__(self, values: Values, captured: list[Row]) -> None:
        self._values = values
        self._captured = captured
        self._bytes = 0
        self.copies: dict[int, list[Any]] = {}
        self.rows: list[Row] = []
        self.same = 0
        """How many operators are the same, from the first on."""
        self.left_out = 0

    def run(self, call: Callable[[], Any]) -> None:
        log = OperatorLog(called=self._take, device=self._values.device)
        log.start()
        try:
            call()
        finally:
            log.stop()
        self.rows = log.rows
        both = zip(self._captured, self.rows, strict=False)
        for captured, row in both:
            if captured.name != row.name or not _alike(captured.outputs, row.outputs):
                break
            self.same += 1

    def _take(self, number: int, results: list[Any]) -> None:
        if number >= len(self._captured):
            return
        row = self._captured[number]
        if row.first == row.end:
            return
        size = sum(one.numel() * one.element_size() for one in results)
        if self._bytes + size > MOST_KEPT_BYTES:
            self.left_out += 1
            return
        self._bytes += size
        self.copies[number] = [self._values.copy_of(one) for one in results]


def _alike(some: list[TensorAt], others: list[TensorAt]) -> bool:
    return [(one.dtype, one.size) for one in some] == [(one.dtype, one.size) for one in others]


class _Comparison:
    def __init__(
        self,
        locator: Locator,
        values: Values,
        target: Target,
        rows: list[Row],
        eager: _Eager,
        notes: list[str],
    ) -> None:
        self.locator = locator
        self.values = values
        self.target = target
        self.rows = rows
        self.eager = eager
        self.notes = list(notes)
        if eager.left_out:
            self.notes.append(
                f"results of {eager.left_out} operators were not compared: copies of more than "
                f"{MOST_KEPT_BYTES >> 30} GiB would have been kept"
            )
        self.replay = locator.replay_of(target)

    def walk(self, waiting: Waiting, driver: Any) -> None:
        steps = self.target.steps
        assert steps is not None
        row_of = {
            at: number
            for number, row in enumerate(self.rows[: self.eager.same])
            for at in range(row.first, row.end)
        }
        last: dict[int, int] = {}
        for position in steps.order:
            if position in row_of:
                last[row_of[position]] = position
        ends = {position: number for number, position in last.items()}
        for position in self.locator.nodes(waiting, self.target):
            number = ends.get(position)
            if number is not None and self._differs(number, position):
                return
        if self.eager.same < len(self.rows):
            self._others()

    def _others(self) -> None:
        """Say that the function called other operators than when it was captured."""
        number = self.eager.same
        row = self.rows[number]
        now = self.eager.rows[number].name if number < len(self.eager.rows) else "nothing more"
        self.locator.outcome(
            "eager",
            self.target,
            self.replay,
            node=row.first if row.end > row.first else -1,
            detail=f"when captured the function called {row.name} here, now it calls {now}",
            found={
                "operator": row.name,
                "nodes": list(range(row.first, row.end)),
                "sure": False,
                "notes": [*self.notes, OTHERS],
            },
        )

    def _differs(self, number: int, position: int) -> bool:
        row, copies = self.rows[number], self.eager.copies.get(number)
        if copies is None:
            return False
        said = []
        for place, eager in zip(row.outputs, copies, strict=True):
            if not place.span_bytes:
                continue
            here = self.values.at(place)
            text = self.values.difference(here, eager)
            if not text:
                continue
            if row.random:
                # Replays of ours do not advance the generator: go on with eager's numbers.
                here.copy_(eager)
                self._once(f"{row.name} draws random numbers, which were taken from eager")
                continue
            said.append(f"{place.text} at {place.address:#x}: {text}")
        if not said:
            return False
        self.locator.outcome(
            "eager",
            self.target,
            self.replay,
            node=row.end - 1 if row.end - row.first > 1 else position,
            detail=f"{row.name}: {'; '.join(said)}",
            found={
                "operator": row.name,
                "nodes": list(range(row.first, row.end)),
                "outputs": said,
                "moved": self._moved(number),
                "sure": row.end - row.first == 1,
                "notes": self.notes,
            },
        )
        return True

    def _moved(self, number: int) -> list[str]:
        """Say which inputs from outside the graph have other addresses when it is eager."""
        made = {
            place.address
            for row in self.rows[:number]
            if row.end > row.first
            for place in row.outputs
        }
        said = []
        pairs = zip(self.rows[number].inputs, self.eager.rows[number].inputs, strict=False)
        for at, (captured, eager) in enumerate(pairs):
            if captured.address not in made and captured.address != eager.address:
                said.append(
                    f"tensor {at} of {self.rows[number].name}, {captured.text}: the graph reads "
                    f"{captured.address:#x}, eager now reads {eager.address:#x}"
                )
        return said

    def _once(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)
