"""Findings of a whole recording: on the command line, as JSON, on their page, on the graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import capture
from capture.analysis import Column, Result, Scope, Severity, Unit
from capture.analysis.found import finders
from capture.memory_after import Blind
from capture.model import GraphInfo, Metadata, Recording
from graphviz_app import cli
from graphviz_app.app import create_app
from graphviz_app.components import result_view
from graphviz_app.components.finding_panel import panel
from graphviz_app.components.findings_table import finding_id, rows, said
from graphviz_app.components.node_findings import of_node
from graphviz_app.context import Context
from graphviz_app.findings import Findings
from graphviz_app.ids import FindingsPage, Shell
from graphviz_app.marks_route import marks_at
from graphviz_app.pages import findings as findings_page
from graphviz_app.pages import memory as memory_page
from graphviz_app.pages import overview
from graphviz_app.pages.findings import layout
from graphviz_app.state import ViewState
from graphviz_app.store import Store
from tests.analysis.graphs import graph_of
from tests.app.test_app import call
from tests.helpers.synthetic_memory import BASE, copy, graph, kernel, memory
from tests.memory.test_changed_hands import Run, user

SCALE = "_Z5scalePfyPKf"


def recording() -> Recording:
    """Return a healthy graph, one with a stale pointer, an empty one, and one that is broken."""
    stale = graph([kernel(SCALE, BASE, 0, BASE), kernel(SCALE, BASE + 600, 0, BASE)], [(0, 1)])
    loaded = {
        "healthy": graph([copy(BASE, BASE + 64, 8), copy(BASE + 64, BASE, 8)], [(0, 1)]),
        "stale": stale,
        "empty": graph_of(0, []),
    }
    infos = [
        GraphInfo(key=key, name=f"graph {key}", node_count=2)
        for key in ("healthy", "stale", "empty", "broken")
    ]
    evidence = {"memory": {key: memory(key) for key in ("healthy", "stale")}}
    return Recording(Metadata(), infos, loaded=loaded, evidence=evidence)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("findings") / "run.cgl"
    made = recording()
    del made.graphs["broken"]  # what was not read cannot be written
    capture.write(made, path)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(["info", "--findings", *arguments]) == 0
    return capsys.readouterr().out


def test_findings_are_counted_by_kind_and_ordered() -> None:
    found = Findings(recording()).look()
    assert [(kind.name, kind.count, kind.certain, kind.graphs) for kind in found.ranked()] == [
        ("stale_pointers", 1, 1, {"stale"}),
        ("empty_graph", 1, 0, {"empty"}),
    ]
    assert found.looked == found.total == 4
    assert [(item.graph, item.node) for item in found.ordered()] == [("stale", "1"), ("empty", "")]
    (stale,) = [item for item in found.rows if item.node]
    assert found.cells(stale)["argument"] == "argument 0, byte 0"
    assert "a free block" in found.words(stale)
    assert any("not read" in reason for reason in found.absent["empty_graph"])


def test_the_command_prints_kinds_with_nodes_and_advice(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run(capsys, str(file))
    assert "warning: Addresses of freed memory" in out
    assert "node 1 of stale: " in out
    assert "[certain]" in out
    assert "Keep a reference" in out
    assert "not looked for: " in out
    assert "node 1 of stale" not in run(capsys, str(file), "--graph", "healthy")
    assert "Nothing was found in graph healthy." in run(capsys, str(file), "--graph", "healthy")


def test_the_document_has_every_finding_with_exact_values(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(run(capsys, str(file), "--json"))
    assert document["graphs"] == 3
    by_name = {item["analysis"]: item for item in document["findings"]}
    stale = by_name["stale_pointers"]
    assert (stale["graph"], stale["node"], stale["severity"]) == ("stale", "1", "warning")
    assert stale["says"]["block size"] == 512
    (stack,) = stale["stacks"]
    assert (stack["what"], stack["address"]) == ("allocated", f"0x{BASE + 600:x}")
    assert document["stacks"][stack["stack"]][1] == "train.py:12 make"
    assert by_name["empty_graph"]["stacks"] == []
    assert by_name["empty_graph"]["says"].startswith("The graph is empty")
    assert "\n" not in document["kinds"][0]["title"]


@pytest.fixture(scope="module")
def store() -> Store:
    return Store([("run.cgl", recording())])


def test_the_page_lists_findings_with_links_to_their_nodes(store: Store) -> None:
    search = store.findings("")
    assert search.done.wait(60)
    context = Context(store, ViewState(page="findings", recording="run"))
    data = rows(context, search.findings)
    assert [(row["title"], row["graph"], row["node"]) for row in data] == [
        ("Addresses of freed memory", "graph stale", "1"),
        ("Empty graphs", "graph empty", ""),
    ]
    assert json.loads(data[0]["links"]["node"]["go"]) == {
        "page": "graph", "graph": "stale", "body": "", "node": 1, "search": "", "view": "",
    }  # fmt: skip
    assert "node" not in data[1]["links"]
    assert "2 findings in 4 graphs." in str(said(search.findings, True))
    assert "Looked at" in str(said(search.findings, False))
    assert "findings-table" in str(layout(context))


def test_the_panel_tells_why_what_to_do_and_where_memory_came_from(store: Store) -> None:
    search = store.findings("")
    assert search.done.wait(60)
    name = finding_id(search.findings.ordered()[0])
    state = ViewState("findings", "run", "stale", "", 1, view=name)
    shown = str(panel(Context(store, state)))
    for part in ("Keep a reference", "a free block", "train.py:12 make", "Memory of the graph"):
        assert part in shown
    assert "nn/linear.py:9 forward" in shown  # the whole stack, not only the user's line
    assert "Origin" in shown  # the node's own panel below
    summary = str(panel(Context(store, ViewState("findings", "run"))))
    assert "Not looked for" in summary


def test_the_panel_is_made_again_when_the_search_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}
    monkeypatch.setattr(findings_page, "set_props", lambda id_, props: made.update({id_: props}))
    store = Store([("run", recording())])
    search = store.findings("")
    assert search.done.wait(60)
    view = finding_id(search.findings.ordered()[0])
    inputs = {
        f"{FindingsPage.TICK}.n_intervals": 1,
        f"{Shell.PLACE}.data": {"page": "findings", "recording": "run"},
        f"{Shell.FOCUS}.data": {"page": "findings", "graph": "stale", "node": 1, "view": view},
        f"{Shell.CONTEXT}.data": {"recording": "run"},
    }
    answer = call(create_app(store), f"{FindingsPage.TICK}.disabled", inputs)
    assert answer[FindingsPage.TICK]["disabled"] is True
    assert "Why, and what to do" in str(made[Shell.DETAILS]["children"])


def test_memory_that_changed_hands_has_all_its_stacks_and_its_words_say_what_they_are() -> None:
    run = Run()
    key = user(run)
    run.free(BASE, 512, 5, reused=True)
    run.replay(key, 9, count=3)
    opened = Store([("run", run.recording())])
    search = opened.findings("")
    assert search.done.wait(60)
    (item,) = [item for item in search.findings.ordered() if item.analysis == "freed_later"]
    state = ViewState("findings", "run", key, "", 1, view=finding_id(item))
    shown = [
        f"{section.children[0].children} {section.children[1]}"
        for section in panel(Context(opened, state))
        if f"at, 0x{BASE:x}" in str(section)
    ]
    assert [text.split()[0] for text in shown] == ["Allocated", "Freed", "Handed"]
    for text, line in zip(shown, ("train.py:12", "work.py:7", "work.py:8"), strict=True):
        assert line in text
    words = search.findings.words(item)
    assert "replays since: 3" in words
    assert "freed at: work.py:7 main" in words
    assert "Net: weight" in str(of_node(Context(opened, state), 1))
    assert "signature is not known" not in str(search.findings.result(item).notes)
    told = str(memory_page.layout(Context(opened, state.but(page="memory", view=""))))
    assert "1 block that nodes point into was freed" in told


def test_what_limits_that_nothing_was_found_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    run = Run()
    user(run)
    assert run.snapshot.after is not None
    run.snapshot.after.blind = [Blind(from_us=20, until_us=30, reason="the history overflowed")]
    whole = run.recording()
    found = Findings(whole).look()
    assert "freed_later" not in found.kinds
    (words,) = [note for note in found.limits["freed_later"] if "the history overflowed" in note]
    assert words.startswith("Frees were not seen for 10 µs")
    assert found.document()["limits"] == found.limits
    store = Store([("run", whole)])
    assert store.findings("").done.wait(60)
    assert words in str(panel(Context(store, ViewState("findings", "run"))))


def test_the_page_of_a_recording_leads_to_what_was_found(store: Store) -> None:
    page = str(overview.layout(Context(store, ViewState("overview", "run"))))
    assert "Addresses of freed memory" in page
    assert "warning: 1 finding in 1 graph, 1 certain" in page
    assert "search=Addresses%20of%20freed%20memory" in page
    many = Store(
        [("many", Recording(Metadata(), [GraphInfo(key="k", name="k", node_count=10**6)]))]
    )
    assert many.known_findings("", 0.0) is None, "a long search waits until it is asked for"
    assert "Findings" not in str(overview.layout(Context(many, ViewState("overview", "many"))))


def test_nodes_of_a_graph_are_marked_by_their_severity(store: Store) -> None:
    client = create_app(store).server.test_client()
    answer = client.get("/marks/run?graph=stale").get_json()
    assert answer == {"warning": [1], "notice": [], "findings": 1}
    assert client.get("/marks/run?graph=healthy").get_json()["findings"] == 0
    assert client.get("/marks/run?graph=none").status_code == 404
    found = str(of_node(Context(store, ViewState("graph", "run", "stale", "", 1)), 1))
    assert "Addresses of freed memory (certain)" in found
    assert of_node(Context(store, ViewState("graph", "run", "stale", "", 0)), 0) == []


def test_what_a_body_holds_marks_the_node_around_it() -> None:
    entry = finders(Scope.GRAPH)["stale_pointers"]
    result = Result(
        columns=[Column("node", Unit.NODE), Column("confidence", Unit.TEXT)],
        rows=[("3/0/2", "certain"), ("3/1/4", "likely"), ("5", "likely")],
        severity=Severity.WARNING,
        summary="synthetic",
    )
    results = {"stale_pointers": (entry, result)}
    assert marks_at(results, "k", "") == {"warning": [3], "notice": [5], "findings": 3}
    assert marks_at(results, "k", "3/1") == {"warning": [], "notice": [4], "findings": 3}


def test_a_table_of_several_graphs_leads_to_the_graph_of_each_row(store: Store) -> None:
    result = Result(
        columns=[Column("graph", Unit.GRAPH), Column("node", Unit.NODE)],
        rows=[("stale", "3/0/2")],
        summary="synthetic",
    )
    (row,) = result_view.rows_of(Context(store, ViewState("analyses", "run", "healthy")), result)
    assert json.loads(row["links"]["c0"]["go"])["graph"] == "stale"
    node = json.loads(row["links"]["c1"]["go"])
    assert (node["graph"], node["body"], node["node"]) == ("stale", "3/0", 2)
