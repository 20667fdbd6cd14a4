"""NaN and Inf: in live tensors after a replay, and after each node of one that leaves them."""

from __future__ import annotations

import gc
import weakref
from contextlib import suppress
from typing import Any

from ...locate_request import Answer
from ...memory.addresses import BlockMap, addresses, blocks_of
from ...memory.words import words
from ...model import Graph
from ..torch_allocator import memory_segments
from .locator import Locator
from .target import Target
from .torch_op_log import OperatorLog, Row, TensorAt
from .torch_tensors_at import Values
from .waiting import Waiting

MOST_SAID = 8
ONLY_WRITTEN = ("aten.copy_.", "aten.fill_.", "aten.zero_.")
"""Operators that do not read their first tensor."""


class Watch:
    """Looks at live tensors that a graph's nodes point to, for ``observe``.

    Parameters
    ----------
    symptom : str
        ``"nan"`` or ``"inf"``.
    values : Values, optional
    """

    def __init__(self, symptom: str, values: Values | None = None) -> None:
        self._symptom = symptom
        self._values = values or Values()
        self._known: dict[str, list[weakref.ref[Any]]] = {}
        self._looks: dict[str, int] = {}

    def __call__(self, target: Target, answer: Answer) -> None:
        """Say in an answer what is wrong after a replay; leave it alone when nothing is."""
        looks = self._looks[target.key] = self._looks.get(target.key, 0) + 1
        if looks & (looks - 1) == 0:  # new tensors come as a rule with the first replays
            self._known[target.key] = _live(target)
        said, nan, infinite = [], 0, 0
        for reference in self._known[target.key]:
            tensor = reference()
            if tensor is None:
                continue
            some_nan, some_inf = self._values.wrong(tensor.detach())
            if some_nan if self._symptom == "nan" else some_inf:
                said.append(_said(_shape(tensor), tensor.data_ptr(), some_nan, some_inf))
            nan, infinite = nan + some_nan, infinite + some_inf
        if nan or infinite:
            answer.found = {"nan": nan, "inf": infinite}
        if said:
            answer.what = self._symptom
            said = list(dict.fromkeys(said))
            answer.detail = "; ".join(said[:MOST_SAID])
            if len(said) > MOST_SAID:
                answer.detail += f"; and {len(said) - MOST_SAID} more tensors"


def _live(target: Target) -> list[weakref.ref[Any]]:
    """Return live tensors of floats in blocks that a graph points into."""
    import torch

    blocks = blocks_of(memory_segments(), None)
    near = {blocks.find(address) for address in addresses(target.graph)} - {None}
    touched = BlockMap(block for block in near if block is not None)
    found = []
    for item in gc.get_objects():
        if type(item) not in (torch.Tensor, torch.nn.Parameter):
            continue
        with suppress(Exception):
            if item.is_cuda and item.is_floating_point() and item.numel():
                block = touched.find(item.data_ptr())
                if block is not None:
                    found.append(weakref.ref(item))
    return found


def _shape(tensor: Any) -> str:
    shape = ", ".join(map(str, tensor.shape))
    return f"{str(tensor.dtype).removeprefix('torch.')}[{shape}]"


def _said(what: str, address: int, nan: int, infinite: int) -> str:
    counts = [f"{count:,} {name}" for count, name in ((nan, "NaN"), (infinite, "Inf")) if count]
    return f"{what} at {address:#x} holds {' and '.join(counts)}"


def find(locator: Locator, waiting: Waiting, target: Target, values: Values | None = None) -> None:
    """Run node by node, and look at what each operator gave.

    Raises
    ------
    DriverError, HungError
        As :meth:`capture.recorder.own.locator.Locator.nodes` does.
    """
    log: OperatorLog | None = target.log
    if log is None or not log.rows:
        locator.outcome(
            "refused",
            target,
            locator.request.replay,
            detail="no operator was seen while the graph was captured: types of values are known "
            "from those, and compiled code calls next to none",
        )
        return
    _Walk(locator, waiting, target, log.rows, values or Values()).run()


def loose_rows(graph: Graph, rows: list[Row]) -> list[Row]:
    """Return a row for each node that no operator made and that points at a tensor.

    Such as kernels that Triton launches, into tensors that an operator or the compiler's code
    allocated before. The tensor that was last seen at an address counts.
    """
    made = {at for row in rows for at in range(row.first, row.end)}
    pointers: dict[int, set[int]] = {}
    for word in words(graph):
        if word.node.isdecimal() and int(word.node) not in made:
            pointers.setdefault(int(word.node), set()).add(word.address)
    known: dict[int, TensorAt] = {}
    found = []
    later = iter(rows)
    row = next(later, None)
    for position in range(len(graph)):
        while row is not None and row.first <= position:
            known.update((place.address, place) for place in row.outputs)
            row = next(later, None)
        places = [known[at] for at in sorted(pointers.get(position, ())) if at in known]
        if places:
            found.append(Row(f"node {position}", position, position + 1, [], places, False))
    return found


class _Walk:
    def __init__(
        self,
        locator: Locator,
        waiting: Waiting,
        target: Target,
        rows: list[Row],
        values: Values,
    ) -> None:
        self.locator = locator
        self.waiting = waiting
        self.target = target
        self.values = values
        launching = [row for row in rows if row.end > row.first]
        self.all = rows
        self.rows = launching + loose_rows(target.graph, rows)
        self.symptom = "inf" if locator.request.symptom == "inf" else "nan"
        self.notes: list[str] = []
        self.first_inf = ""

    def run(self) -> None:
        before = self._inputs()
        of_node = {
            at: number for number, row in enumerate(self.rows) for at in range(row.first, row.end)
        }
        last_of: dict[int, int] = {}
        order = self.target.steps.order if self.target.steps is not None else []
        for place, position in enumerate(order):
            if position in of_node:
                last_of[of_node[position]] = place
        ends = {order[place]: number for number, place in last_of.items()}
        for position in self.locator.nodes(self.waiting, self.target):
            number = ends.get(position)
            if number is None:
                continue
            if self._bad(self.rows[number], position, before):
                return
        loose = len(order) - len(of_node)
        if loose:
            self.notes.append(
                f"{loose} nodes were launched by no operator that was seen, and point at no tensor "
                f"that one made: what they write was not looked at"
            )
        self.locator.outcome(
            "clean",
            self.target,
            self.locator.request.replay,
            found={"notes": self.notes, "inputs": before},
        )

    def _inputs(self) -> list[str]:
        """Say what is wrong in what the graph takes from outside, before any node ran."""
        made: set[int] = set()
        seen: set[TensorAt] = set()
        said = []
        for row in self.all:
            made |= {place.address for place in row.outputs if row.name.endswith(".out")}
            launches = row.end > row.first
            for place in row.inputs[1 if row.name.startswith(ONLY_WRITTEN) else 0 :]:
                if launches and place.address not in made and place not in seen:
                    seen.add(place)
                    text = self._wrong(place)
                    if text:
                        said.append(text)
            # A view of what came from outside is no more made here than that is.
            views = set() if launches else {place.address for place in row.inputs}
            made |= {place.address for place in row.outputs} - views
        return said

    def _wrong(self, place: TensorAt) -> str:
        if not place.span_bytes:
            return ""
        nan, infinite = self.values.wrong(self.values.at(place))
        if infinite and not nan and self.symptom == "nan":
            self.first_inf = self.first_inf or _said(place.text, place.address, 0, infinite)
        sought = nan if self.symptom == "nan" else infinite
        return _said(place.text, place.address, nan, infinite) if sought else ""

    def _bad(self, row: Row, position: int, before: list[str]) -> bool:
        said = [text for text in map(self._wrong, row.outputs) if text]
        if not said:
            return False
        several = row.end - row.first > 1
        found: dict[str, object] = {
            "operator": row.name,
            "nodes": list(range(row.first, row.end)),
            "outputs": said,
            "inputs": before,
            "notes": self.notes,
            "first_inf": self.first_inf,
            "sure": not several and not before,
        }
        self.locator.outcome(
            self.symptom,
            self.target,
            self.locator.request.replay,
            node=row.end - 1 if several else position,
            detail=f"{row.name}: {'; '.join(said)}",
            found=found,
        )
        return True
