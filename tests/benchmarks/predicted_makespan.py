"""Replays predicted from durations and edges alone, against untraced replays of the same graphs.

Reads recordings, by default the golden ones, and predicts every timed graph in three ways:

- *plain*: the longest path by durations;
- *left out*: that, a gap per dependency and a launch, both learned from the other recordings only;
- *product*: the same with the constants in :mod:`capture.analysis.prediction`, which were learned
  from all golden recordings, so of these it is no test.

A recording of many graphs counts once, with the median of its graphs' errors. Measured is the
median time between two events around an untraced replay of the script's own. Where nothing was
queued before it, that time holds the CPU's part of the launch as well, which no duration tells;
the column *waiting* says how much of the traced replay was not makespan.

::

    python -m tests.benchmarks.predicted_makespan -o FILE
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import capture
from capture import __version__
from capture.analysis import Subject
from capture.analysis.prediction import GAP_NS, LAUNCH_NS, predict_makespan
from capture.analysis.schedule import durations_or_zero, path_to_last, schedule

RECORDINGS = Path(__file__).parent.parent / "data" / "recordings"
GOAL = 0.10


class Graph(NamedTuple):
    """What one executable's timings say."""

    subject: Subject
    key: str
    plain_ns: int
    dependencies: int
    """Of the longest path."""
    measured_ns: int
    launch_ns: float
    """Of a traced replay, what was not makespan."""
    traced_ns: float


def graphs_of(path: Path) -> list[Graph]:
    """Return the timed graphs of a recording whose untraced replays were measured."""
    recording = capture.read(path)
    found = []
    for key, info in recording.graphs.items():
        for timings in recording.timings_of(key):
            subject = Subject(recording.graph(key), info, timings)
            if subject.edges is None or subject.untraced_ns is None or not subject.is_timed:
                continue
            if not timings.traced_replay_ns or not timings.makespan_ns:
                continue
            plan = schedule(subject.edges, durations_or_zero(subject))
            traced = median(timings.traced_replay_ns)
            found.append(
                Graph(
                    subject,
                    key,
                    plan.length,
                    len(path_to_last(plan)) - 1,
                    subject.untraced_ns,
                    traced - median(timings.makespan_ns),
                    traced,
                )
            )
    return found


def learn(recordings: Sequence[Sequence[Graph]]) -> tuple[int, int]:
    """Return gap and launch in nanoseconds: medians over recordings of medians over graphs.

    The launch is what a traced replay takes beyond its makespan; the gap is what an untraced
    replay takes beyond launch and longest path, per dependency of that path.
    """
    launch = median(median(graph.launch_ns for graph in graphs) for graphs in recordings)
    gap = median(
        median(
            (graph.measured_ns - graph.plain_ns - launch) / max(1, graph.dependencies)
            for graph in graphs
        )
        for graphs in recordings
    )
    return max(0, round(gap)), round(launch)


def error(graphs: Sequence[Graph], gap_ns: int, launch_ns: int) -> float:
    """Return the median error of a recording's graphs: predicted over measured, less one."""
    return median(
        (predict_makespan(graph.subject, gap_ns=gap_ns) + launch_ns) / graph.measured_ns - 1
        for graph in graphs
    )


def main() -> None:
    """Measure, print and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("recordings", nargs="*", type=Path)
    options = parser.parse_args()
    paths = options.recordings or sorted(RECORDINGS.glob("*.cgl"))
    found = {path.stem: graphs for path in paths if (graphs := graphs_of(path))}
    if len(found) < 2:
        raise SystemExit("expected at least two recordings with timings")
    rows = []
    for name, graphs in found.items():
        gap, launch = learn([other for key, other in found.items() if key != name])
        first = graphs[0]
        rows.append(
            {
                "recording": name,
                "graphs": len(graphs),
                "nodes": len(first.subject.graph),
                "measured_ns": first.measured_ns,
                "plain_ns": first.plain_ns,
                "waiting_share": round(
                    median(graph.launch_ns / graph.traced_ns for graph in graphs), 4
                ),
                "left_out_gap_ns": gap,
                "left_out_launch_ns": launch,
                "error_plain": round(error(graphs, 0, 0), 4),
                "error_left_out": round(error(graphs, gap, launch), 4),
                "error_product": round(error(graphs, GAP_NS, LAUNCH_NS), 4),
            }
        )
    kinds = ("plain", "left_out", "product")
    summary = {
        kind: sorted(abs(float(str(row[f"error_{kind}"]))) for row in rows) for kind in kinds
    }
    medians = {kind: round(median(errors), 4) for kind, errors in summary.items()}
    gap, launch = learn(list(found.values()))
    print(f"{'recording':20} {'measured':>10} {'waiting':>8} " + "".join(f"{k:>10}" for k in kinds))
    for row in rows:
        errors = "".join(f"{float(str(row[f'error_{kind}'])):>+10.1%}" for kind in kinds)
        waiting = float(str(row["waiting_share"]))
        print(f"{row['recording']:20} {row['measured_ns']:>10} {waiting:>8.1%} {errors}")
    for kind in kinds:
        listed = ", ".join(f"{value:.1%}" for value in summary[kind])
        print(f"{kind}: median error {medians[kind]:.1%} (goal under {GOAL:.0%}); {listed}")
    print(f"learned from all: gap {gap} ns, launch {launch} ns; product: {GAP_NS}, {LAUNCH_NS}")
    gpus = {
        gpu.name
        for path in paths
        for process in capture.read(path).processes
        for gpu in process.gpus
    }
    results = {
        "benchmark": "predicted_makespan",
        "goal_median_error": GOAL,
        "median_error": medians,
        "errors": {kind: [round(value, 4) for value in errors] for kind, errors in summary.items()},
        "learned_from_all": {"gap_ns": gap, "launch_ns": launch},
        "product": {"gap_ns": GAP_NS, "launch_ns": LAUNCH_NS},
        "recordings": rows,
        "gpus": sorted(gpus),
        "versions": {"cudagraph-lens": __version__, "python": platform.python_version()},
    }
    if options.output:
        options.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
