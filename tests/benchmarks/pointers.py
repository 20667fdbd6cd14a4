"""Pointers found in the nodes of real graphs, against the addresses of each operator's tensors.

    python -m tests.benchmarks.pointers [WORKLOAD ...] [-o RESULTS.json] [--jobs 10] [--limit-s 40]

Needs a GPU. Each workload is recorded with memory in a process of its own, in which every operator
and every launch of a Triton kernel also notes where its inputs and outputs lie (``tensor_log``).
Nodes are joined to the call that made them as origins are; nodes that no call made are left out.

A pointer is a word of a node that was resolved to memory. It is right if it lies

- in a tensor of the call, in the storage of one, or at its end;
- in memory that the call allocated for itself, by torch's memory history, or at its end;
- of a node of cuBLAS or cuDNN, in memory outside torch that CUDA knows: the library's own;
- in a workspace: of a node of cuBLAS or cuDNN, memory that an earlier call of those allocated for
  itself and still holds; or a block that no noted tensor of the graph lies in, and that only nodes
  of those and of operators with random numbers (which read the generator's state) point into.

Precision is the share of right pointers. Recall is the share of a call's tensors on the device that
a pointer of its nodes leads into. Operators need not pass every tensor on (a statistic that is only
needed in evaluation, a shape): where the address of a tensor is in no byte of the call's nodes, no
reader could find it, and it counts as not passed. ``recall_of_all`` counts those as missed too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from capture.memory.lifetimes import lifetimes
from capture.memory.pointers import Pointer, resolve
from capture.memory_map import Memory
from capture.model import Graph
from capture.names import demangle
from tests.benchmarks.tensor_log import Call, Captured, TensorLog
from tests.workloads import NAMES

GOAL = 0.99
SLACK_US = 2
"""torch's memory history and Python do not read the same clock."""
MOST_EXAMPLES = 12
WITH_WORKSPACES = frozenset(("cuBLASLt", "cuDNN"))
_CUDNN = ("cudnn", "fprop", "dgrad", "wgrad", "implicit_convolve", "nchwtonhwc", "nhwctonchw")
_CUBLAS = ("nvjet", "cublas", "gemm", "gemv", "splitk", "cutlass")


def library_of(kernel: str, type_: str, call: Call) -> str:
    """Return whose kernel a node is: aten, cuBLASLt, cuDNN, Triton, or none (copies)."""
    if call.is_launch:
        return "Triton"
    if type_ != "kernel":
        return "copies"
    name = demangle(kernel)
    if "at::" in name or "at_cuda" in name or name.startswith(("pytorch_flash", "void pytorch")):
        return "aten"
    low = kernel.lower()
    if any(part in low for part in _CUDNN):
        return "cuDNN"
    if any(part in low for part in _CUBLAS):
        return "cuBLASLt"
    return "cuDNN" if "convolution" in call.name or "cudnn" in call.name else "aten"


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

    def add(self, other: Score) -> None:
        """Add the counts of another graph."""
        for name, value in vars(other).items():
            if isinstance(value, Counter):
                self.right.update(value)
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
            "precision": _ratio(right, right + self.wrong),
            "recall": _ratio(self.found, self.found + self.missed),
            "recall_of_all": _ratio(self.found, self.tensors),
        }


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 5) if whole else None


class Temporaries:
    """Memory that calls allocated for themselves.

    Parameters
    ----------
    memory : Memory
    calls : sequence of Call
    with_workspaces : set of int
        Ids of the calls of libraries that keep workspaces.
    """

    def __init__(self, memory: Memory, calls: Sequence[Call], with_workspaces: set[int]) -> None:
        ordered = sorted(calls, key=lambda call: call.begun_us)
        begins = [call.begun_us for call in ordered]
        self._of: dict[int, list[tuple[int, int]]] = {}
        self._kept: list[tuple[int, int, int, float]] = []
        """Workspaces: start, end, and from when to when they were held."""
        events = memory.events
        for item in lifetimes(events) if events is not None else ():
            assert events is not None
            at_us = events.at_us[item.allocated]
            last = bisect_right(begins, at_us + SLACK_US)
            # The calls of autograd's threads and the script's follow each other.
            for call in ordered[max(0, last - 2) : last]:
                if at_us <= call.ended_us + SLACK_US:
                    span = item.address, item.address + item.size_bytes
                    self._of.setdefault(id(call), []).append(span)
                    given = any(span[0] <= r.start < span[1] for r in call.ranges)
                    if id(call) in with_workspaces and not given:
                        end_us = events.at_us[item.freed] if item.freed is not None else inf
                        self._kept.append((*span, at_us, end_us))

    def hold(self, call: Call, address: int) -> str:
        """Say how an address lies in what a call allocated; empty if it does not."""
        spans = self._of.get(id(call), ())
        if any(start <= address < end for start, end in spans):
            return "temporary"
        return "end of temporary" if any(address == end for _, end in spans) else ""

    def hold_workspace(self, call: Call, address: int) -> bool:
        """Say whether an address lies in a workspace that was held when a call was made."""
        return any(
            start <= address < end
            and from_us <= call.ended_us + SLACK_US
            and call.begun_us <= to_us
            for start, end, from_us, to_us in self._kept
        )


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
        node: library_of(_name(graph, node), types[node], calls[row])
        for row, nodes in nodes_of.items()
        for node in nodes
    }
    workspaces = _workspaces(pointers, captured, library)
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
                why = _right(pointer, call, temporaries, workspaces, libraries)
                if not why and id(call) in kept:
                    held_ = temporaries.hold_workspace(call, pointer.word.address)
                    why = "workspace" if held_ else ""
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
                names = sorted({demangle(_name(graph, node))[:160] for node in nodes})
                examples.append(f"MISSED {owner} {call.name} of {end - start} {names}")
            else:
                score.not_passed += 1
                what = next(r.what for r in call.ranges if (r[0], r[1]) == (start, end))
                names = sorted({_name(graph, node)[:40] for node in nodes})
                examples.append(f"not passed: {owner} {call.name} {what} of {end - start} {names}")
    return scores, examples


def _name(graph: Graph, node: int) -> str:
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


def _workspaces(
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


def _any_in(starts: list[int], begin: int, end: int) -> bool:
    return bisect_right(starts, end - 1) > bisect_right(starts, begin - 1)


def _right(
    pointer: Pointer,
    call: Call,
    temporaries: Temporaries,
    workspaces: Iterable[int],
    libraries: Iterable[str],
) -> str:
    address = pointer.word.address
    if any(item.start <= address < item.end for item in call.ranges):
        return "tensor"
    if any(item.storage[0] <= address < item.storage[1] for item in call.ranges):
        return "storage"
    if any(address == item.end for item in call.ranges):
        return "end of tensor"
    held = temporaries.hold(call, address)
    if held:
        return held
    if pointer.place.kind == "outside" and not WITH_WORKSPACES.isdisjoint(libraries):
        return "the library's own"
    return "workspace" if pointer.place.start in workspaces else ""


def _wrong_text(graph: Graph, node: int, call: Call, pointer: Pointer, library: str) -> str:
    word, place = pointer
    name = demangle(_name(graph, node))
    return (
        f"WRONG {library} {call.name} argument {word.argument} byte {word.offset_bytes}"
        f"{'' if word.guess else ' declared'} in {place.kind} {place.state} {place.pool} of "
        f"{place.size_bytes} {place.name!r} | {name[:160]}"
    )


def child(name: str, output: Path) -> None:
    """Record one workload and write its scores."""
    import capture
    from tests.workloads import load

    log = TensorLog()
    log.install()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.cgl"
        workload = load(name).build("cuda")
        with capture.record(path):
            workload.run(1)
        recording = capture.read(path)
        total: dict[str, Score] = {}
        examples: Counter[str] = Counter()
        unowned = nodes = 0
        missing: list[str] = []
        for key in recording.graphs:
            graph, memory, captured = recording.graph(key), recording.memory(key), log.graphs[key]
            if memory is None or memory.refused:
                missing.append(key)
                continue
            nodes += len(graph)
            unowned += sum(row not in captured.calls for row in captured.owners)
            scores, found = score_graph(graph, memory, captured)
            for library, score in scores.items():
                total.setdefault(library, Score()).add(score)
            examples.update(found)
    document = {
        "workload": name,
        "graphs": len(recording.graphs),
        "nodes": nodes,
        "nodes_of_no_call": unowned,
        "graphs_without_memory": missing,
        "scores": {library: vars(score) for library, score in total.items()},
        "examples": dict(examples.most_common()),
    }
    output.write_text(json.dumps(document), encoding="utf-8")


def run_child(name: str, limit_s: float) -> dict[str, Any]:
    """Measure one workload in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "scores.json"
        command = [sys.executable, "-m", __spec__.name, "--child", name, "-o", str(output)]
        variables = {"CGLENS_MEMORY": "stacks", "CGLENS_TIMINGS": "0"}
        try:
            done = subprocess.run(
                command,
                env={**os.environ, **variables},
                capture_output=True,
                text=True,
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"workload": name, "failed": f"took more than {limit_s} s"}
        if done.returncode or not output.exists():
            return {"workload": name, "failed": done.stderr.strip()[-1500:] or "no result"}
        found: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
        return found


def main() -> int:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.pointers", description=__doc__.splitlines()[0]
    )
    parser.add_argument("workloads", nargs="*", default=list(NAMES))
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--limit-s", type=float, default=120)
    parser.add_argument("--child", metavar="WORKLOAD", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.output)
        return 0
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda name: run_child(name, options.limit_s), options.workloads))
    total: dict[str, Score] = {}
    for result in results:
        if "failed" in result:
            print(f"{result['workload']}: {result['failed']}")
            continue
        print(
            f"{result['workload']}: {result['graphs']} graphs, {result['nodes']} nodes, "
            f"{result['nodes_of_no_call']} of no call"
        )
        for library, counts in result["scores"].items():
            score = Score(**{**counts, "right": Counter(counts["right"])})
            total.setdefault(library, Score()).add(score)
            print(f"  {library:9} {_line(score)}")
        for text, count in list(result["examples"].items()):
            if not text.startswith("not passed"):
                print(f"    {count} x {text}")
    for library, score in total.items():
        print(f"{library:9} {_line(score)}")
    if options.output:
        from tests.gpu.conftest import environment

        document = {
            "benchmark": "pointers",
            **environment(),
            "goal": GOAL,
            "libraries": {name: score.document() for name, score in total.items()},
            "workloads": [_stored(result) for result in results],
        }
        options.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0 if not any("failed" in result for result in results) else 1


def _line(score: Score) -> str:
    found = score.document()
    return (
        f"precision {found['precision']} ({found['wrong']} of {found['pointers']} wrong: "
        f"{found['right']}), recall {found['recall']} ({found['missed']} missed, "
        f"{found['not_passed']} of {found['tensors']} not passed)"
    )


def _stored(result: dict[str, Any]) -> dict[str, Any]:
    """Return a workload's result as it is kept: ratios, and the most frequent examples."""
    if "failed" in result:
        return result
    scores = {
        library: Score(**{**counts, "right": Counter(counts["right"])}).document()
        for library, counts in result["scores"].items()
    }
    examples = dict(list(result["examples"].items())[:MOST_EXAMPLES])
    return {**result, "scores": scores, "examples": examples}


if __name__ == "__main__":
    sys.exit(main())
