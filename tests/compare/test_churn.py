"""Graphs that are captured again: what differed from the last time."""

from __future__ import annotations

from pathlib import Path

import capture
from capture.compare.churn import Cause, churn
from capture.model import Graph, GraphInfo, Metadata, Place, Recording
from tests.compare.graphs import ADDRESS, chain, kernels, launch

ROOT = Path(__file__).resolve().parent.parent.parent


def recording(*graphs: Graph, labels: tuple[str, ...] = ()) -> Recording:
    infos = [
        GraphInfo(
            key=f"g{at}",
            name="g",
            label=labels[at] if labels else "",
            place=Place(file="train.py", line=12, function="step"),
            node_count=len(graph),
            capture_duration_ns=5,
        )
        for at, graph in enumerate(graphs)
    ]
    loaded = {info.key: graph for info, graph in zip(infos, graphs, strict=True)}
    return Recording(Metadata(), infos, loaded=loaded)


def test_each_cause_is_told() -> None:
    elsewhere = chain(
        [launch(f"{name}_kernel", address=ADDRESS + (9 << 30) + 512 * ord(name)) for name in "abc"]
    )
    again = chain([launch(f"{name}_kernel", address=ADDRESS + 512 * ord(name)) for name in "abc"])
    (found,) = churn(
        recording(
            kernels("abc"),
            again,
            elsewhere,
            kernels("abc", scalar=9),
            kernels("abc", scalar=9, grid=16),
            kernels("abxc", scalar=9, grid=16),
        )
    )
    assert [step.cause for step in found.steps] == [
        Cause.NOTHING,
        Cause.ADDRESSES,
        Cause.ARGUMENTS,
        Cause.SHAPES,
        Cause.TOPOLOGY,
    ]
    assert "3 addresses" in found.steps[1].words
    assert "grid of 3 nodes" in found.steps[3].words
    assert found.place == "train.py:12"


def test_other_labels_are_other_graphs() -> None:
    one = recording(kernels("ab"), kernels("ab"), labels=("batch=1", "batch=2"))
    assert churn(one) == []
    ladder = capture.read(ROOT / "tests/data/recordings/batch_ladder.cgl")
    assert churn(ladder) == []
