"""`cglens locate` over the stand-ins for torch and the driver: children that break and hang."""

from __future__ import annotations

import json
from typing import Any

import pytest

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


@pytest.mark.parametrize("symptom", ["fault", "hang"])
def test_the_first_guilty_node(place: Workplace, symptom: str) -> None:
    text = SCRIPT.replace("FAULTY", f"{{'step3': '{symptom}', 'step5': 'fault'}}")
    found = located(place, text, "-o", "out.cgl")
    assert (found["symptom"], found["node"], found["replay"]) == (symptom, "3", 1)
    assert found["decided"] is True
    assert [run["what"] for run in found["runs"]] == [symptom, symptom, symptom, "clean"]
    assert found["culprit"]["name"] == "step3"
    assert found["order"] == [0, 1, 2, 3, 4, 5]
    (info,) = capture.read(place.folder / "out.cgl").graphs.values()
    kept = stored(info.extra)
    assert kept is not None
    assert (kept.node, kept.graph) == ("3", info.key)
