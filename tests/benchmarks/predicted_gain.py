"""The gain of a free node, predicted from durations and edges, against replays without the node.

Reads recordings in which replays without single nodes were measured (``cglens whatif`` or
``cglens bench --nodes`` write them), by default the golden ones, and takes every node whose traced
duration is above one percent of the predicted makespan. Predicted is what the analysis *what if*
says; *with its gap* adds the gap to the next node, in case a disabled node needs none. A measured
gain within twice the spread of its replays has no error: those are counted.

::

    python -m tests.benchmarks.predicted_gain -o FILE
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from statistics import median
from typing import NamedTuple

import capture
from capture import __version__
from capture.analysis import Subject
from capture.analysis.gains import gains_if_free
from capture.analysis.measured_gain import measured_gains
from capture.analysis.prediction import GAP_NS, spaced
from capture.analysis.schedule import durations_or_zero, schedule
from tests.benchmarks.predicted_makespan import RECORDINGS

GOAL = 0.15
SHARE = 0.01


class Node(NamedTuple):
    """One node above one percent, with both gains."""

    predicted_ns: int
    measured_ns: int
    noise: bool

    def error(self, more_ns: int = 0) -> float:
        """Return predicted over measured, less one."""
        return (self.predicted_ns + more_ns) / self.measured_ns - 1


def nodes_of(subject: Subject) -> list[Node]:
    """Return the nodes of a graph that count and were measured."""
    if subject.edges is None or not subject.is_timed:
        return []
    work = durations_or_zero(subject)
    timed = [duration is not None for duration in subject.durations]
    durations = spaced(subject.edges, work, timed, GAP_NS)
    plan = schedule(subject.edges, durations)
    gains = gains_if_free(subject.edges, durations, plan, work)
    found = []
    for position, gain in measured_gains(subject).items():
        if work[position] > SHARE * plan.length:
            noise = not gain.is_more_than_noise or gain.gain_ns <= 0
            found.append(Node(gains.get(position, 0), gain.gain_ns, noise))
    return found


def main() -> None:
    """Read, print and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("recordings", nargs="*", type=Path)
    options = parser.parse_args()
    paths = options.recordings or sorted(RECORDINGS.glob("*.cgl"))
    found: dict[str, list[Node]] = {}
    for path in paths:
        recording = capture.read(path)
        nodes: list[Node] = []
        for key in recording.benchmarked:
            if key not in recording.graphs:
                continue
            timings = recording.timings_of(key)
            benchmark = recording.benchmark(key)
            nodes += nodes_of(
                Subject(
                    recording.graph(key),
                    recording.info(key),
                    timings[0] if timings else None,
                    benchmark=benchmark,
                )
            )
        if nodes:
            found[path.stem] = nodes
    if not found:
        raise SystemExit(
            "no recording holds replays without single nodes: make them with `cglens whatif` or "
            "`cglens bench --nodes`"
        )
    rows = []
    for name, nodes in found.items():
        errors = [abs(node.error()) for node in nodes if not node.noise]
        rows.append(
            {
                "recording": name,
                "nodes": len(nodes),
                "noise": sum(node.noise for node in nodes),
                "median_error": round(median(errors), 4) if errors else None,
            }
        )
        shown = f"{median(errors):.1%}" if errors else "none beyond the noise"
        print(f"{name:20} {len(nodes):>5} nodes, {rows[-1]['noise']} in the noise; {shown}")
    counted = [node for nodes in found.values() for node in nodes if not node.noise]
    medians = {
        name: round(median(abs(node.error(more)) for node in counted), 4) if counted else None
        for name, more in (("predicted", 0), ("with_its_gap", GAP_NS))
    }
    signed = sorted(round(node.error(), 4) for node in counted)
    tenths = [signed[round(part * (len(signed) - 1) / 10)] for part in range(11)] if signed else []
    print(f"median error {medians} of {len(counted)} nodes (goal under {GOAL:.0%})")
    print(f"errors, by tenths: {tenths}")
    results = {
        "benchmark": "predicted_gain",
        "goal_median_error": GOAL,
        "median_error": medians,
        "errors_by_tenths": tenths,
        "nodes": len(counted),
        "in_the_noise": sum(node.noise for nodes in found.values() for node in nodes),
        "recordings": rows,
        "versions": {"cudagraph-lens": __version__, "python": platform.python_version()},
    }
    if options.output:
        options.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
