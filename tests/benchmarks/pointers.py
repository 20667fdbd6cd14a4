"""Pointers found in the nodes of real graphs, against the addresses of each operator's tensors.

    python -m tests.benchmarks.pointers [WORKLOAD ...] [-o RESULTS.json] [--jobs 10] [--limit-s 40]

Needs a GPU. Each workload is recorded with memory in a process of its own, in which every operator
and every launch of a Triton kernel also notes where its inputs and outputs lie (``tensor_log``).
Nodes are joined to the call that made them as origins are; nodes that no call made are left out.
Beside the ten workloads two are measured that no layout was learned from.
:mod:`tests.benchmarks.pointer_scores` says when a pointer is right and when one is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.benchmarks.pointer_scores import Score, score_graph
from tests.benchmarks.tensor_log import TensorLog
from tests.workloads import NAMES

GOAL = 0.99
OTHERS = ("held_out_convolutions", "held_out_operators")
"""What nothing was fitted to, see :mod:`tests.benchmarks.held_out`."""
MOST_EXAMPLES = 12


def child(name: str, output: Path) -> None:
    """Record one workload and write its scores."""
    import capture
    from tests.benchmarks.held_out import HELD_OUT
    from tests.workloads import load

    log = TensorLog()
    log.install()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.cgl"
        workload = HELD_OUT[name]() if name in OTHERS else load(name).build("cuda")
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
    parser.add_argument("workloads", nargs="*", default=[*NAMES, *OTHERS])
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
    others: dict[str, Score] = {}
    for result in results:
        _print(result)
        sums = others if result["workload"] in OTHERS else total
        for library, counts in result.get("scores", {}).items():
            sums.setdefault(library, Score()).add(Score.of(counts))
    for title, sums in (("ten workloads", total), ("held out", others)):
        for library, score in sums.items():
            print(f"{title}: {library:9} {_line(score)}")
    if options.output:
        from tests.gpu.conftest import environment

        document = {
            "benchmark": "pointers",
            **environment(),
            "goal": GOAL,
            "libraries": {name: score.document() for name, score in total.items()},
            "held_out": {name: score.document() for name, score in others.items()},
            "workloads": [_stored(result) for result in results],
        }
        options.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0 if not any("failed" in result for result in results) else 1


def _print(result: dict[str, Any]) -> None:
    """Print what one workload gave."""
    if "failed" in result:
        print(f"{result['workload']}: {result['failed']}")
        return
    print(
        f"{result['workload']}: {result['graphs']} graphs, {result['nodes']} nodes, "
        f"{result['nodes_of_no_call']} of no call"
    )
    for library, counts in result["scores"].items():
        print(f"  {library:9} {_line(Score.of(counts))}")
    for text, count in result["examples"].items():
        if not text.startswith("not passed"):
            print(f"    {count} x {text}")


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
    scores = {library: Score.of(counts).document() for library, counts in result["scores"].items()}
    examples = dict(list(result["examples"].items())[:MOST_EXAMPLES])
    return {**result, "scores": scores, "examples": examples}


if __name__ == "__main__":
    sys.exit(main())
