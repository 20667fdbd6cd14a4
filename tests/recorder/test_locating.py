"""`cglens locate` over the stand-ins for torch and the driver: children that break and hang."""

from __future__ import annotations

import json
from typing import Any

import capture
from capture.located import stored
from tests.recorder.conftest import Workplace

SCRIPT = """
    import sys, torch
    from cuda.bindings import driver
    world = driver.world()
    x = torch.Tensor()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for number in range(6):
            torch.launch(x, kernel=f"step{number}")
    print("captured")
    graph.replay()
    world.faulty = FAULTY
    graph.replay()
    print("replayed")
"""


def located(place: Workplace, text: str, *options: str, code: int = 0) -> dict[str, Any]:
    place.write("script.py", text)
    done = place.cglens("locate", "--json", "--timeout", "0.3", *options, "script.py")
    assert done.code == code, done.err
    out = done.out
    found: dict[str, Any] = json.loads(out[out.index("{") :])
    return found


def test_the_first_guilty_node_of_a_fault(place: Workplace) -> None:
    text = SCRIPT.replace("FAULTY", "{'step3': 'fault', 'step5': 'fault'}")
    found = located(place, text, "-o", "out.cgl")
    assert (found["symptom"], found["node"], found["replay"]) == ("fault", "3", 1)
    assert found["decided"] is True
    assert [run["what"] for run in found["runs"]] == ["fault", "fault", "fault", "clean"]
    assert found["culprit"]["name"] == "step3"
    assert found["order"] == [0, 1, 2, 3, 4, 5]
    (info,) = capture.read(place.folder / "out.cgl").graphs.values()
    kept = stored(info.extra)
    assert kept is not None
    assert (kept.node, kept.graph) == ("3", info.key)


def test_the_first_guilty_node_of_a_hang_in_words(place: Workplace) -> None:
    place.write("script.py", SCRIPT.replace("FAULTY", "{'step0': 'hang'}"))
    done = place.cglens("locate", "--timeout", "0.3", "script.py")
    assert done.code == 0, done.err
    assert "does not end" in done.out
    assert "First guilty node: node 0, step0" in done.out
    assert "3 runs:" in done.out
    assert "the first 1 of 6 nodes at once" in done.out
    assert list(place.folder.glob("*.cgl")) == []


def test_a_workload_that_is_well_has_no_guilty_node(place: Workplace) -> None:
    found = located(place, SCRIPT.replace("FAULTY", "{}"), code=1)
    assert (found["node"], found["graph"]) == ("", "")
    assert "none of 2 replays" in found["reason"]
    assert len(found["runs"]) == 1


def test_what_broke_before_the_replay_is_not_the_graphs(place: Workplace) -> None:
    text = SCRIPT.replace("world.faulty = FAULTY", "world.faulty = {'x': 'fault'}; world.ran('x')")
    found = located(place, text, code=1)
    assert "ran outside of this graph" in found["reason"]
    assert found["culprit"] is None


def test_a_graph_that_is_another_one_each_time_is_not_decided(place: Workplace) -> None:
    """Each run of the workload captures one node more."""
    text = (
        SCRIPT.replace("FAULTY", "{'step3': 'fault'}")
        .replace(
            "graph = torch",
            """open("runs", "a").write("x")
    graph = torch""",
        )
        .replace("range(6)", "range(6 + len(open('runs').read()))")
    )
    found = located(place, text, code=1)
    assert "another one this time" in found["reason"]


def test_nodes_that_cannot_run_alone_are_refused(place: Workplace) -> None:
    text = SCRIPT.replace("FAULTY", "{'ncclDevKernel_AllReduce': 'hang'}").replace(
        'f"step{number}"', '"ncclDevKernel_AllReduce"'
    )
    found = located(place, text, code=1)
    assert found["symptom"] == "hang"
    assert "collective" in found["reason"]
    assert len(found["runs"]) == 1


def test_a_script_has_nothing_that_is_eager(place: Workplace) -> None:
    place.write("script.py", SCRIPT)
    done = place.cglens("locate", "--symptom", "eager", "script.py")
    assert done.code == 1
    assert "script.py:FUNCTION" in done.err
    assert "--eager" in done.err
    place.write("a.cgl", "")
    assert place.cglens("locate", "a.cgl").code == 2
