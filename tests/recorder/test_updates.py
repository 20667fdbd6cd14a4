"""The driver asked of updates in a recorded child, over the stand-ins for torch and the driver."""

from __future__ import annotations

from capture.compare import compare_recordings
from capture.measure_request import MeasureRequest
from capture.model import Graph, Topology
from capture.nodes.kernel import KernelPayload
from capture.recorder.own.update_questions import FEW, can_be_cloned, questions
from tests.recorder.conftest import Workplace
from tests.recorder.test_measuring import measured

SCRIPT = """
    import torch
    x = torch.Tensor()
    kept = []
    for count in (2, 2, 3):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for number in range(count):
                torch.launch(x, kernel=f"kernel_{number}")
        kept.append(graph)
"""
ONLY = MeasureRequest(bench=False, updates=True)


def chain(count: int) -> Graph:
    edges = list(range(count - 1))
    topology = Topology(types=["kernel"] * count, source=edges, target=[edge + 1 for edge in edges])
    return Graph(topology=topology, payloads=[KernelPayload()] * count)


def test_the_driver_is_asked_and_nothing_is_launched(place: Workplace) -> None:
    place.write("script.py", SCRIPT + "    print('value', x.value)\n")
    done = place.cglens("series", "--ask-driver", "-o", "out.cgl", "script.py")
    assert done.code == 0, done.err
    assert "value 0.0\n" in done.out
    assert "2 of 4 updates taken; all as predicted" in done.out
    recording = done.recording()
    first, second, third = recording.graphs
    found = recording.updates(first)
    assert found is not None
    assert [(row.after, row.result, row.predicted) for row in found.rows()] == [
        (second, "SUCCESS", "SUCCESS"),
        (third, "TOPOLOGY_CHANGED", "TOPOLOGY_CHANGED"),
    ]
    assert recording.graphs[first].evidence["updates"].present
    assert not recording.graphs[first].evidence["benchmarks"].present
    assert [item.replays for item in recording.executables] == [0, 0, 0]
    diff = compare_recordings(recording, recording, first, third)
    answer = diff.pairs[0].update.answer
    assert answer is not None
    assert answer.result == "TOPOLOGY_CHANGED"
    assert answer.node == ""
    assert not diff.pairs[0].update.disputed


def test_questions_come_in_order_and_are_limited() -> None:
    few = [chain(2), chain(3), chain(2)]
    pairs, left_out = questions(few)
    assert pairs[:2] == [(0, 2), (2, 0)]
    assert set(pairs[2:]) == {(0, 1), (1, 0)}
    assert not left_out
    many, _ = questions([chain(2)] * (FEW + 2))
    assert len(many) == len(set(many)) < 3 * (FEW + 2)
    assert many[: FEW + 1] == [(at, at + 1) for at in range(FEW + 1)]
    listed, left_out = questions([chain(2)] * 2_000)
    assert (len(listed), left_out) == (1_000, 3 * 1_999 - 1 - 1_000)


def test_graphs_that_the_driver_does_not_clone_are_told_apart() -> None:
    allocating = Graph(topology=Topology(types=["mem_alloc"]), payloads=[None])
    assert not can_be_cloned(allocating)
    assert can_be_cloned(chain(1))


def test_answers_survive_a_driver_that_kills_the_process(place: Workplace) -> None:
    text = (
        SCRIPT
        + """
    import os
    from cuda.bindings import driver
    world, asked = driver.world(), []
    answer = world.update
    def update(*handles):
        asked.append(handles)
        return answer(*handles) if len(asked) < 3 else os.kill(os.getpid(), 9)
    world.update = update
    """
    )
    done = measured(place, text, ONLY)
    assert done.code == 137
    recording = done.recording()
    first, second, _ = (recording.updates(key) for key in recording.graphs)
    assert first is not None
    assert [row.result for row in first.rows()] == ["SUCCESS", "TOPOLOGY_CHANGED"]
    assert second is not None
    assert any("the process died" in note for note in second.notes)
