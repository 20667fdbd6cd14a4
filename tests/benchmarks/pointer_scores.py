"""Judges the pointers of a graph by what each operator's call was seen to use.

A pointer is a word of a node that was resolved to memory. It is right if it lies

- in a tensor of the call, or in the storage of one;
- in memory that the call allocated for itself, by torch's memory history;
- in a workspace: of a node of cuBLAS or cuDNN, memory that an earlier call of those allocated for
  itself and still holds; or a block that no noted tensor of the graph lies in, and that only nodes
  of those and of operators with random numbers (which read the generator's state) point into;
- at the start of memory outside torch that CUDA knows, if several nodes of a kernel of cuBLAS or
  cuDNN hold that address at the same byte: the library's own, such as what blocks wait at;
- at the end of a tensor or of such memory, if it was resolved to the block that ends there: one
  that leads to the neighbour is wrong.

Precision is the share of right pointers. Recall is the share of a call's tensors on the device that
a pointer of its nodes leads into. Operators need not pass every tensor on (a statistic that is only
needed in evaluation, a shape): where the address of a tensor is in no byte of the call's nodes, no
reader could find it, and it counts as not passed. ``recall_of_all`` counts those as missed too, and
``without`` says which they are. ``tests/gpu/test_tensors_not_passed.py`` fills such tensors with
something else before a replay, and sees that nothing comes of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from capture.memory.pointers import Pointer, resolve
from capture.memory_map import Memory
from capture.model import Graph
from capture.names import demangle
from tests.benchmarks.libraries import WITH_WORKSPACES, library_of
from tests.benchmarks.temporaries import Temporaries
from tests.benchmarks.tensor_log import Call, Captured


@dataclass
class Score:
    """Counts of one library."""

    nodes: int = 0
    right: Counter[str] = field(default_factory=Counter)
    """Right pointers by why."""
    wrong: int = 0
    on_host: int = 0
    """Addresses of ordinary host memory that signatures declare, such as cuBLAS's scalars: counted
    as neither."""
    certain_wrong: int = 0
    """Of those, pointers that the kernel's signature declares."""
    tensors: int = 0
    found: int = 0
    missed: int = 0
    """Tensors whose address is in the bytes of a node, and that no pointer leads into."""
    not_passed: int = 0
    without: Counter[str] = field(default_factory=Counter)
    """Tensors that were not passed, by operator and argument."""

    @classmethod
    def of(cls, counts: dict[str, Any]) -> Score:
        """Return counts that were stored."""
        held = {name: counts[name] for name in vars(cls())}
        return cls(**{**held, "right": Counter(held["right"]), "without": Counter(held["without"])})

    def add(self, other: Score) -> None:
        """Add the counts of another graph."""
        for name, value in vars(other).items():
            if isinstance(value, Counter):
                getattr(self, name).update(value)
            else:
                setattr(self, name, getattr(self, name) + value)

    def document(self) -> dict[str, Any]:
        """Return counts and ratios."""
        right = sum(self.right.values())
        return {
            "nodes": self.nodes,
            "pointers": right + self.wrong,
            "right": dict(self.right),
            "wrong": self.wrong,
            "certain_wrong": self.certain_wrong,
            "on_host": self.on_host,
            "tensors": self.tensors,
            "found": self.found,
            "missed": self.missed,
            "not_passed": self.not_passed,
            "without": dict(self.without.most_common()),
            "precision": _ratio(right, right + self.wrong),
            "recall": _ratio(self.found, self.found + self.missed),
            "recall_of_all": _ratio(self.found, self.tensors),
        }


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 5) if whole else None


def score_graph(
    graph: Graph, memory: Memory, captured: Captured
) -> tuple[dict[str, Score], list[str]]:
    """Compare the pointers of a graph with the tensors of its calls.

    Returns
    -------
    by library, and examples of what is wrong or missed
    """
    types = graph.topology.types
    pointers: dict[int, list[Pointer]] = {}
    for pointer in resolve(graph, memory):
        if "/" not in pointer.word.node and pointer.place.kind != "unresolved":
            pointers.setdefault(int(pointer.word.node), []).append(pointer)
    calls = captured.calls
    nodes_of: dict[int, list[int]] = {}
    for node, row in enumerate(captured.owners):
        if row in calls:
            nodes_of.setdefault(row, []).append(node)
    library = {
        node: library_of(kernel_name(graph, node), types[node], calls[row])
        for row, nodes in nodes_of.items()
        for node in nodes
    }
    known = dict.fromkeys(_of_libraries(graph, pointers, library), "the library's own")
    known |= dict.fromkeys(workspaces_of(pointers, captured, library), "workspace")
    kept = {
        id(calls[row])
        for row, nodes in nodes_of.items()
        if not {library[node] for node in nodes}.isdisjoint(WITH_WORKSPACES)
    }
    temporaries = Temporaries(memory, [calls[row] for row in nodes_of], kept)
    scores: dict[str, Score] = {}
    examples: list[str] = []
    for row, nodes in nodes_of.items():
        call = calls[row]
        libraries = {library[node] for node in nodes}
        for node in nodes:
            score = scores.setdefault(library[node], Score())
            score.nodes += 1
            for pointer in pointers.get(node, ()):
                if pointer.place.kind == "host":
                    score.on_host += 1
                    continue
                why = why_right(pointer, call, temporaries, known, libraries)
                if why:
                    score.right[why] += 1
                else:
                    score.wrong += 1
                    score.certain_wrong += not pointer.word.guess
                    examples.append(_wrong_text(graph, node, call, pointer, library[node]))
        owner = next((library[n] for n in nodes if library[n] != "aten"), "aten")
        held = [pointer.word.address for node in nodes for pointer in pointers.get(node, ())]
        raw = [_raw(graph, node) for node in nodes]
        score = scores[owner]
        for start, end in sorted({(item[0], item[1]) for item in call.ranges if item.on_device}):
            score.tensors += 1
            if any(start <= address < end for address in held):
                score.found += 1
            elif any(start.to_bytes(8, "little") in data for data in raw):
                score.missed += 1
                names = sorted({demangle(kernel_name(graph, node))[:160] for node in nodes})
                examples.append(f"MISSED {owner} {call.name} of {end - start} {names}")
            else:
                score.not_passed += 1
                what = next(r.what for r in call.ranges if (r[0], r[1]) == (start, end))
                score.without[f"{call.name} {what}"] += 1
                names = sorted({kernel_name(graph, node)[:40] for node in nodes})
                examples.append(f"not passed: {owner} {call.name} {what} of {end - start} {names}")
    return scores, examples


def kernel_name(graph: Graph, node: int) -> str:
    """Return the name of the kernel that a node launches; empty text if it launches none."""
    kernel = getattr(graph.payloads[node], "kernel", None)
    return kernel.name if kernel is not None else ""


def _raw(graph: Graph, node: int) -> bytes:
    """Return every byte of a node that may hold an address."""
    payload: Any = graph.payloads[node]
    data = getattr(payload, "arguments", None) or b""
    ends = [getattr(payload, name, None) for name in ("source", "destination")]
    numbers = [getattr(end, "address", None) for end in ends]
    numbers.append(getattr(payload, "address", None))
    return data + b"".join(int(number).to_bytes(8, "little") for number in numbers if number)


def workspaces_of(
    pointers: dict[int, list[Pointer]], captured: Captured, library: dict[int, str]
) -> set[int]:
    """Return blocks that no noted tensor lies in, and that only such nodes use as have workspaces.

    Operators of random numbers read the generator's state there.
    """
    noted = sorted(
        {(item.start, item.end) for call in captured.calls.values() for item in call.ranges}
    )
    starts = [start for start, _ in noted]
    users: dict[tuple[int, int], set[str]] = {}
    with_kernels = {
        captured.owners[node]: name for node, name in library.items() if name in WITH_WORKSPACES
    }
    for node, held in pointers.items():
        if node not in library:
            continue
        row = captured.owners[node]
        call = captured.calls[row]
        random = any(
            part in call.name for part in ("dropout", "rand", "bernoulli", "attention", "normal")
        )
        for pointer in held:
            place = pointer.place
            if place.kind == "block":
                kind = "random" if random else library[node]
                if kind == "copies":  # a memset of the library's
                    kind = with_kernels.get(row, kind)
                users.setdefault((place.start, place.size_bytes), set()).add(kind)
    return {
        start
        for (start, size), kinds in users.items()
        if kinds <= {*WITH_WORKSPACES, "random"} and not _any_in(starts, start, start + size)
    }


def _of_libraries(
    graph: Graph, pointers: dict[int, list[Pointer]], library: dict[int, str]
) -> set[int]:
    """Return starts of memory outside torch that several nodes hold at one byte of one kernel."""
    nodes: Counter[tuple[str, int, int]] = Counter()
    for node, held in pointers.items():
        if library.get(node) not in WITH_WORKSPACES:
            continue
        for word, place in held:
            if place.kind == "outside" and word.address == place.start:
                nodes[kernel_name(graph, node), word.offset_bytes, place.start] += 1
    return {start for (_, _, start), count in nodes.items() if count > 1}


def _any_in(starts: list[int], begin: int, end: int) -> bool:
    return bisect_right(starts, end - 1) > bisect_right(starts, begin - 1)


def why_right(
    pointer: Pointer,
    call: Call,
    temporaries: Temporaries,
    known: Mapping[int, str],
    libraries: Iterable[str],
) -> str:
    """Say what of a call a pointer leads to; empty text if it leads to nothing of it.

    Parameters
    ----------
    pointer : Pointer
    call : Call
    temporaries : Temporaries
    known : mapping of int to str
        What else is right, by where it starts.
    libraries : iterable of str
        Of the nodes of the call.
    """
    address, place = pointer.word.address, pointer.place
    if any(item.start <= address < item.end for item in call.ranges):
        return "tensor"
    if any(item.storage[0] <= address < item.storage[1] for item in call.ranges):
        return "storage"
    own = temporaries.of(call)
    if any(start <= address < end for start, end in own):
        return "temporary"
    with_workspaces = not WITH_WORKSPACES.isdisjoint(libraries)
    if with_workspaces and temporaries.hold_workspace(call, address):
        return "workspace"
    if place.start in known and (place.kind == "block" or place.start == address):
        return known[place.start]
    ends = [*((item.start, item.end) for item in call.ranges), *own]
    if any(address == end and place.start <= start < end for start, end in ends):
        return "end"
    return ""


def _wrong_text(graph: Graph, node: int, call: Call, pointer: Pointer, library: str) -> str:
    word, place = pointer
    name = demangle(kernel_name(graph, node))
    return (
        f"WRONG {library} {call.name} argument {word.argument} byte {word.offset_bytes}"
        f"{'' if word.guess else ' declared'} in {place.kind} {place.state} {place.pool} of "
        f"{place.size_bytes} {place.name!r} | {name[:160]}"
    )
