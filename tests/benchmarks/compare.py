"""Finding planted edits in synthetic graphs of repeated layers that are all alike.

``python -m tests.benchmarks.compare [--nodes 1000 10000 100000] [--out FILE]`` needs no GPU.

One percent of the nodes is inserted, one percent removed and one percent changed, and one layer
that is not like the others moves. The peers are the script that planted the edits, and
``difflib.SequenceMatcher(autojunk=False)`` on kernel names. An edit is a node that was
added, removed, changed or moved; of a replaced stretch difflib is charged the longer side only.
difflib is left out above 10,000 nodes. Times are CPU time, so that what else runs does not
count.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import subprocess
import time
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import capture
from capture.model import Graph, Kernel, Topology
from capture.nodes.kernel import KernelPayload

LAYER = 12
GOALS = {"edits_over_planted": 1.02, "time_over_difflib": 0.5, "time_100k_over_10k": 15}
MOST_FOR_DIFFLIB = 10_000


def kernel(name: str) -> Kernel:
    return Kernel(name=name, registers=32, parameters=[(0, 8), (8, 8), (16, 4)])


def payload(function: Kernel, weight: int, activation: int) -> KernelPayload:
    words = weight.to_bytes(8, "little") + activation.to_bytes(8, "little")
    return KernelPayload(
        kernel=function,
        grid=(64, 1, 1),
        block=(256, 1, 1),
        dynamic_shared_bytes=0,
        arguments=words + (7).to_bytes(4, "little"),
    )


def chain(payloads: list[KernelPayload]) -> Graph:
    count = len(payloads)
    return Graph(
        topology=Topology(
            types=["kernel"] * count, source=list(range(count - 1)), target=list(range(1, count))
        ),
        payloads=list(payloads),
    )


def planted(nodes: int, seed: int = 1) -> tuple[Graph, Graph, int]:
    """Return a graph, an edited one at other addresses, and how many edits were planted."""
    dice = random.Random(seed)
    plain = [kernel(f"layer_{'abcdefghijkl'[at]}_kernel") for at in range(LAYER)]
    other = [kernel(f"other_{'abcdefghijkl'[at]}_kernel") for at in range(LAYER)]
    count = nodes // LAYER
    special = count // 3

    def layers(base: int) -> list[list[KernelPayload]]:
        # A weight of its own for each node, two activations that all of them share.
        return [
            [
                payload(function, base + 512 * (at * LAYER + step), base - 4096 * (1 + step % 2))
                for step, function in enumerate(other if at == special else plain)
            ]
            for at in range(count)
        ]

    before = [node for layer in layers(0x7F0100000000) for node in layer]
    order = layers(0x7F4100000000)
    order.insert(2 * count // 3, order.pop(special))
    after = [node for layer in order for node in layer]
    each = nodes // 100
    places = dice.sample(range(len(after)), 3 * each)
    todo = dict(zip(places, ["insert"] * each + ["remove"] * each + ["change"] * each, strict=True))
    edited: list[KernelPayload] = []
    for at, node in enumerate(after):
        what = todo.get(at)
        if what == "insert":
            new = 0x7F4900000000 + 512 * at
            edited.append(payload(dice.choice(plain), new, 0x7F4100000000 - 4096))
        elif what == "change":
            function = dice.choice([item for item in plain if item is not node.kernel])
            node = payload(function, 0x7F4500000000 + 512 * at, 0x7F4100000000 - 4096)
        if what != "remove":
            edited.append(node)
    return chain(before), chain(edited), 3 * each + LAYER


def names(graph: Graph) -> list[str]:
    return [item.kernel.name for item in graph.payloads]


def by_difflib(before: Graph, after: Graph) -> int:
    matcher = SequenceMatcher(None, names(before), names(after), autojunk=False)
    return sum(
        max(i2 - i1, j2 - j1) for what, i1, i2, j1, j2 in matcher.get_opcodes() if what != "equal"
    )


def one(nodes: int, rounds: int) -> dict[str, Any]:
    before, after, edits = planted(nodes)
    times = []
    for _ in range(rounds):
        start = time.process_time()
        found = capture.compare(before, after)
        times.append(time.process_time() - start)
    counts = found.counts
    ours = counts.added + counts.removed + counts.changed + counts.moved
    result: dict[str, Any] = {
        "nodes": nodes,
        "planted": edits,
        "edits": ours,
        "edits_over_planted": ours / edits,
        "seconds": min(times),
    }
    if nodes <= MOST_FOR_DIFFLIB:
        start = time.process_time()
        result["difflib_edits"] = by_difflib(before, after)
        result["difflib_seconds"] = time.process_time() - start
        result["time_over_difflib"] = result["seconds"] / result["difflib_seconds"]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    results = []
    for nodes in options.nodes:
        results.append(one(nodes, options.rounds))
        print(json.dumps(results[-1]), flush=True)
    seconds = {item["nodes"]: item["seconds"] for item in results}
    summary: dict[str, Any] = {"goals": GOALS}
    if {10_000, 100_000} <= set(seconds):
        summary["time_100k_over_10k"] = seconds[100_000] / seconds[10_000]
        print(f"100,000 nodes take {summary['time_100k_over_10k']:.1f} times as long as 10,000")
    if options.out is not None:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
        ).stdout.strip()
        content = {
            "commit": commit,
            "python": platform.python_version(),
            "results": results,
            **summary,
        }
        options.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
