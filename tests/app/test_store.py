"""Opened recordings: what is read when, and what is kept."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from capture.errors import FormatError, LookupFailed
from capture.model import Graph, Recording
from graphviz_app.memo import Memo
from graphviz_app.opened import short_id
from graphviz_app.store import Store
from tests.helpers import synthetic

DOT = Path(__file__).parent.parent / "data" / "driver_dot" / "alltypes_verbose.dot"


def counting(graphs: dict[str, Graph]) -> tuple[Recording, list[str]]:
    """Return a recording and the keys that it was made to load, in order."""
    asked: list[str] = []
    recording = synthetic.recording(graphs, failed=False)
    held = dict(recording._graphs)

    def load(key: str) -> Graph:
        asked.append(key)
        return held[key]

    recording._load = load
    recording._graphs.clear()
    return recording, asked


def test_no_graph_is_read_before_it_is_looked_at() -> None:
    recording, asked = counting({"a": synthetic.chain(3), "b": synthetic.chain(4)})
    store = Store([("run.cgl", recording)])
    store.twins("run")
    assert asked == []
    key = next(iter(recording.graphs))
    store.graph("run", key)
    store.picture("run", key)
    assert asked == [key]


def test_graphs_leave_memory_when_there_are_too_many() -> None:
    recording, asked = counting({f"g{i}": synthetic.chain(10) for i in range(4)})
    store = Store([("run.cgl", recording)], limit_bytes=15_000)
    keys = list(recording.graphs)
    for key in keys:
        store.graph("run", key)
    store.graph("run", keys[-1])
    assert asked == keys
    store.graph("run", keys[0])
    assert asked == [*keys, keys[0]]
    assert recording._graphs == {}


def test_ids_are_readable_stable_and_unique() -> None:
    recording = synthetic.recording({}, failed=False)
    store = Store([("Train (1).cgl", recording), ("train-1", recording), ("", recording)])
    assert list(store.opened) == ["train-1", "train-1-2", "recording"]
    assert short_id("x" * 300) == "x" * 40
    assert short_id("графы.cgl") == "recording"


def test_what_is_not_there_is_named() -> None:
    store = Store([("a", synthetic.typical())])
    with pytest.raises(LookupFailed, match="no recording 'b' is open here: open are a"):
        store.get("b")
    with pytest.raises(LookupFailed, match="no graph 'x'"):
        store.graph("a", "x")
    with pytest.raises(LookupFailed, match="no body '9/9'"):
        store.graph("a", "train.py:bodies#1", "9/9")


def test_a_body_has_its_own_picture() -> None:
    store = Store([("a", synthetic.typical())])
    key = "train.py:bodies#1"
    assert store.picture("a", key, "1/0").count == 2
    assert store.picture("a", key, "1/0/1/0").count == 3


def test_a_real_file_opens(tmp_path: Path) -> None:
    store = Store.open([DOT])
    (opened,) = store.opened.values()
    assert opened.id == "alltypes-verbose-dot"
    key = next(iter(opened.recording.graphs))
    assert store.picture("", key).count == len(store.graph("", key))
    broken = tmp_path / "broken.cgl"
    broken.write_bytes(b"")
    with pytest.raises(FormatError):
        Store.open([broken])


def test_predecessors_and_successors_come_with_ports() -> None:
    store = Store([("a", synthetic.typical())])
    picture = store.picture("a", "train.py:bodies#1")
    assert [edge.source for edge in picture.into(3)] == [1, 2]
    assert [edge.target for edge in picture.out_of(3)] == [4, 5]
    (edge,) = picture.into(1)
    assert (edge.from_port, edge.to_port, edge.type) == (1, 0, 1)
    assert picture.into(0) == []


def test_twins_are_counted_by_topology() -> None:
    store = Store(
        [("a", synthetic.recording({"x": synthetic.chain(3), "y": synthetic.chain(3),
                                    "z": synthetic.chain(4)}))]
    )  # fmt: skip
    assert sorted(store.twins("a").values()) == [1, 2]


def test_a_result_is_made_once_for_all_who_wait() -> None:
    memo = Memo(1000)
    made: list[int] = []
    gate = threading.Event()

    def make() -> int:
        gate.wait(5)
        made.append(1)
        return 7

    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(memo.get, "k", make, lambda _: 1) for _ in range(4)]
        gate.set()
        assert [answer.result(5) for answer in answers] == [7] * 4
    assert made == [1]


def test_an_error_is_not_kept() -> None:
    memo = Memo(1000)

    def fail() -> int:
        raise LookupFailed("gone")

    with pytest.raises(LookupFailed):
        memo.get("k", fail, lambda _: 1)
    assert memo.get("k", lambda: 3, lambda _: 1) == 3


def test_the_bound_holds_and_the_least_recent_goes_first() -> None:
    memo = Memo(10)
    for key in "abc":
        memo.get(key, lambda key=key: key, lambda _: 5)  # type: ignore[misc]
    assert memo.held_bytes == 10
    assert memo.get("c", lambda: "new", lambda _: 5) == "c"
    assert memo.get("a", lambda: "new", lambda _: 5) == "new"
    assert memo.get("large", lambda: "x", lambda _: 99) == "x"
    assert len(memo) == 1
