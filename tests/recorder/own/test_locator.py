"""Parts of a graph that run in place of a replay, over the fake driver."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import msgspec
import pytest

from capture.errors import InvalidGraphError
from capture.locate_request import Answer, LocateRequest, read
from capture.model import Graph, Topology
from capture.recorder.own.locator import Locator
from capture.recorder.own.node_steps import NodeSteps, order_of
from capture.recorder.own.safety import cannot_run_in_place
from tests.helpers.declared import NODES, Declared, graph, kernel
from tests.recorder.own.conftest import Bench


class Left(BaseException):
    """The process would have ended."""


def leave(code: int) -> NoReturn:
    raise Left(code)


def named(bench: Bench, name: str) -> Declared:
    node = kernel(bench.world)
    renamed = msgspec.structs.replace(node.payload.kernel, name=name)
    return node._replace(payload=msgspec.structs.replace(node.payload, kernel=renamed))


def ran(bench: Bench, folder: Path, built: Graph, **request: Any) -> list[Answer]:
    """Capture a graph and replay it once."""
    answers = folder / "answers"
    locator = Locator(LocateRequest(answers=str(answers), timeout_s=0.2, **request), leave)
    handle = bench.world.build(built)
    extraction = SimpleNamespace(graph=built, handles=[("", bench.driver.nodes(handle))])
    capture: Any = SimpleNamespace(key="a", handle=handle, extraction=extraction)
    locator.read(bench.driver, capture)

    class Owner:
        """A graph object, which can be referred to weakly."""

    owner = Owner()
    locator.captured(bench.driver, owner, capture)
    with pytest.raises(Left):
        locator.replaying(bench.driver, owner, 0, lambda: pytest.fail("it was replayed"))
    return read(answers)[0]


def test_the_guilty_node_inside_a_child_graph(bench: Bench, tmp_path: Path) -> None:
    inner = graph([named(bench, "one"), named(bench, "bad"), named(bench, "two")], [(0, 1), (1, 2)])
    built = graph(
        [named(bench, "zero"), Declared("child_graph", None, (("child", inner),))], [(0, 1)]
    )
    bench.driver.faulty = {"bad": "fault"}
    answers = ran(bench, tmp_path, built, step="walk", graph="a")
    outcome = answers[-1]
    assert (outcome.what, outcome.node, outcome.path) == ("fault", 1, "1/0/1")
    assert [one.path for one in answers if one.event == "node"] == ["", "", "1/0/0", "1/0/1"]


def test_a_child_graph_with_what_cannot_be_copied_runs_as_a_whole(
    bench: Bench, tmp_path: Path
) -> None:
    inner = graph([named(bench, "one"), NODES["host"](bench.world)], [(0, 1)])
    built = graph([Declared("child_graph", None, (("child", inner),))], [])
    answers = ran(bench, tmp_path, built, step="walk", graph="a")
    assert [(one.node, one.path) for one in answers if one.event == "node"] == [(0, "")]
    assert len(bench.driver.launched) == 1


@pytest.mark.parametrize(("count", "what"), [(0, "clean"), (2, "clean"), (3, "hang"), (9, "hang")])
def test_prefixes_run_at_once(bench: Bench, tmp_path: Path, count: int, what: str) -> None:
    nodes = [named(bench, name) for name in ("one", "two", "bad", "four")]
    built = graph(nodes, [(0, 1), (1, 2), (2, 3)])
    bench.driver.faulty = {"bad": "hang"}
    launched = len(bench.driver.launched)
    answers = ran(bench, tmp_path, built, step="prefix", graph="a", prefix=count)
    assert answers[-1].what == what
    assert len(bench.driver.launched) == launched + bool(count)


def test_prefixes_follow_dependencies_and_not_creation(bench: Bench) -> None:
    topology = Topology(types=["empty"] * 4, source=[3, 0], target=[0, 2])
    assert order_of(topology) == [1, 3, 0, 2]
    nodes = [named(bench, name) for name in ("a", "b", "c", "d")]
    built = graph(nodes, [(3, 0), (0, 2)])
    clone = bench.driver.clone(bench.world.build(built))
    steps = NodeSteps(bench.driver, built, clone, bench.driver.nodes(clone))
    executable = steps.prefix(3)
    left = bench.driver._graphs[bench.driver.executables[executable]][0]
    assert [payload.kernel.name for payload in left.payloads] == ["a", "b", "d"]
    assert list(zip(left.topology.source, left.topology.target, strict=True)) == [(2, 0)]
    with pytest.raises(InvalidGraphError, match="cycle"):
        order_of(Topology(types=["empty"] * 2, source=[0, 1], target=[1, 0]))


@pytest.mark.parametrize("name", ["conditional_if", "conditional_while"])
def test_what_cannot_be_cloned_is_refused(bench: Bench, tmp_path: Path, name: str) -> None:
    built = graph([named(bench, "one"), NODES[name](bench.world)], [(0, 1)])
    assert "node 1 is a" in cannot_run_in_place(built)
    outcome = ran(bench, tmp_path, built, step="walk", graph="a")[-1]
    assert outcome.what == "refused"
    assert "node 1 is a" in outcome.detail


def test_host_nodes_run_as_the_script_would_have_them_run(bench: Bench) -> None:
    assert cannot_run_in_place(graph([NODES["host"](bench.world)], [])) == ""


def test_a_device_that_was_broken_before_is_not_the_graphs(bench: Bench, tmp_path: Path) -> None:
    bench.driver.faulty = {"elsewhere": "fault"}
    bench.driver.ran("elsewhere")
    built = graph([named(bench, "one")], [])
    outcome = ran(bench, tmp_path, built, step="walk", graph="a")[-1]
    assert outcome.what == "outside"
