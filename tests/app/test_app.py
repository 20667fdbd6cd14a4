"""The app as a whole: its ids, its callbacks, and what it answers over HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from enum import EnumType
from pathlib import Path
from typing import Any

import dash
import pytest
from dash.development.base_component import Component

from capture.errors import FormatError
from graphviz_app import ids as ids_module
from graphviz_app import pages as pages_package
from graphviz_app.app import Settings, create_app
from graphviz_app.ids import (
    GraphPage,
    Shell,
)
from graphviz_app.pages import Page, pages
from graphviz_app.store import Store
from tests.helpers import origins, synthetic, synthetic_memory

DOT = Path(__file__).parent.parent / "data" / "driver_dot" / "alltypes_verbose.dot"
LAYERS = "train.py:layers#0"
BODIES = "train.py:bodies#1"


@pytest.fixture(scope="module")
def app() -> dash.Dash:
    with_origins = origins.recording(origins.transformer(2))
    named = [("run.cgl", synthetic.typical()), ("b", synthetic.typical())]
    with_memory = ("memory", synthetic_memory.recording())
    return create_app(Store([*named, ("origins", with_origins), with_memory]))


def ids(component: Any) -> Iterator[str]:
    """Yield ids in a tree, those of components in properties such as `rightSection` included."""
    if isinstance(component, (list, tuple)):
        for item in component:
            yield from ids(item)
    elif isinstance(component, Component):
        if isinstance(getattr(component, "id", None), str):
            yield component.id
        for name in component._prop_names:
            yield from ids(getattr(component, name, None))


def dependencies(app: dash.Dash) -> list[dict[str, Any]]:
    client = app.server.test_client()
    answer = client.get("/_dash-dependencies")
    assert answer.status_code == 200
    return list(json.loads(answer.get_data(as_text=True)))


def outputs(entry: dict[str, Any]) -> list[str]:
    text = entry["output"]
    if not text or entry.get("no_output"):
        return []
    return text.strip(".").split("...") if text.startswith("..") else [text]


def call(app: dash.Dash, output: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Run the server callback that owns an output, over HTTP, as the browser does."""
    (entry,) = [item for item in dependencies(app) if output in outputs(item)]
    names = outputs(entry)

    def prop(item: dict[str, str]) -> dict[str, Any]:
        name = f"{item['id']}.{item['property']}"
        return {**item, "value": inputs.get(name)}

    parsed = [dict(zip(("id", "property"), name.rsplit(".", 1), strict=True)) for name in names]
    body = {
        "output": entry["output"],
        "outputs": parsed if len(parsed) > 1 else parsed[0],
        "inputs": [prop(item) for item in entry["inputs"]],
        "state": [prop(item) for item in entry["state"]],
        "changedPropIds": [f"{item['id']}.{item['property']}" for item in entry["inputs"]],
    }
    answer = app.server.test_client().post("/_dash-update-component", json=body)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return dict(json.loads(answer.get_data(as_text=True))["response"])


def page_at(app: dash.Dash, pathname: str, search: str = "") -> dict[str, Any]:
    return call(
        app,
        f"{Shell.CONTENT}.children",
        {
            f"{Shell.PLACE}.data": {"page": "x"},
            f"{Shell.URL}.pathname": pathname,
            f"{Shell.URL}.search": search,
        },
    )


def details_at(app: dash.Dash, **focus: Any) -> str:
    answer = call(app, f"{Shell.DETAILS}.children", {f"{Shell.FOCUS}.data": focus})
    return json.dumps(answer[Shell.DETAILS]["children"])


def test_ids_are_unique(app: dash.Dash) -> None:
    found = list(ids(app.validation_layout))
    assert len(found) == len(set(found))


def test_every_id_is_a_member_of_an_enum(app: dash.Dash) -> None:
    enums: list[Any] = [item for item in vars(ids_module).values() if isinstance(item, EnumType)]
    known = {str(member) for enum in enums for member in enum}
    assert set(ids(app.validation_layout)) <= known


def test_every_callback_speaks_of_ids_that_exist(app: dash.Dash) -> None:
    known = set(ids(app.validation_layout))
    for entry in dependencies(app):
        named = [item["id"] for item in [*entry["inputs"], *entry["state"]]]
        named += [output.rsplit(".", 1)[0] for output in outputs(entry)]
        assert set(named) <= known, entry


def test_each_output_has_one_owner(app: dash.Dash) -> None:
    owned = [output for entry in dependencies(app) for output in outputs(entry)]
    assert len(owned) == len(set(owned))
    assert not [output for output in owned if "@" in output]


def test_chains_are_at_most_three_callbacks_deep(app: dash.Dash) -> None:
    entries = dependencies(app)
    produced = {output: i for i, entry in enumerate(entries) for output in outputs(entry)}

    def depth(index: int, above: tuple[int, ...]) -> int:
        assert index not in above, f"a cycle through {entries[index]['output']}"
        before = [
            produced[name]
            for item in entries[index]["inputs"]
            if (name := f"{item['id']}.{item['property']}") in produced
        ]
        return 1 + max((depth(other, (*above, index)) for other in before), default=0)

    depths = [depth(index, ()) for index in range(len(entries))]
    assert max(depths) == 3


def test_no_graph_is_in_a_store(app: dash.Dash) -> None:
    content = json.dumps(page_at(app, "/graph", f"?graph={LAYERS.replace('#', '%23')}"))
    assert "nvjet" in content
    assert len(content) < 40_000


@pytest.mark.parametrize("page", list(pages()))
def test_a_skeleton_has_the_ids_of_the_page(app: dash.Dash, page: str) -> None:
    needed = dict.fromkeys(("modules", "operators", "source"), "origins") | {"memory": "memory"}
    search = f"?recording={needed[page]}" if page in needed else ""
    content = json.dumps(page_at(app, f"/{page}", search)[Shell.CONTENT]["children"])
    for id_ in ids(pages()[page].skeleton()):
        assert f'"id": "{id_}"' in content


def test_the_overview_names_graphs_failures_and_the_run(app: dash.Dash) -> None:
    answer = page_at(app, "/")
    content = json.dumps(answer[Shell.CONTENT]["children"])
    for expected in (
        "python train.py --steps 300",
        "Synthetic GPU",
        "14.5 ms",
        "layers batch_size=1",
        "cudaErrorStreamCaptureUnsupported",
        "5 nodes reached",
        "train.py:88 in bad_step",
    ):
        assert expected in content
    assert answer[Shell.CONTEXT]["data"]["recording"] == "run"
    assert len(answer[Shell.GRAPH]["data"]) == 5


def test_a_graph_knows_its_neighbours(app: dash.Dash) -> None:
    context = page_at(app, "/graph", f"?graph={BODIES.replace('#', '%23')}")[Shell.CONTEXT]["data"]
    assert (context["before"], context["after"]) == (LAYERS, "train.py:chain#2")


@pytest.mark.parametrize(
    ("path", "query", "sentence", "way_back"),
    [
        ("/graph", "?graph=nope", "No graph 'nope'", "/?recording=run"),
        ("/graph", "?recording=zzz", "No recording 'zzz'", "/"),
        ("/nowhere", "", "There is no page 'nowhere'", "/?recording=run"),
        ("/graph", "?graph=train.py:bodies%231&body=8/0", "No body '8/0'", "graph=train.py:bodies"),
        ("/graph", "?graph=train.py:bodies%231&body=8", "names a node", "graph=train.py:bodies"),
        ("/graph", "?graph=train.py:bodies%231&node=99", "No node 99", "graph=train.py:bodies"),
        ("/graph", "?graph=train.py:empty%234", "This graph has no nodes", ""),
    ],
)
def test_what_is_not_there_is_a_sentence_and_a_way_back(
    app: dash.Dash, path: str, query: str, sentence: str, way_back: str
) -> None:
    content = json.dumps(page_at(app, path, query)[Shell.CONTENT]["children"])
    assert sentence in content
    assert way_back in content


def test_an_empty_recording_is_a_sentence() -> None:
    app = create_app(Store([("none", synthetic.recording({}, failed=False))]))
    assert "captured none" in json.dumps(page_at(app, "/"))
    assert "holds no graph" in json.dumps(page_at(app, "/graph"))


def test_no_recording_is_a_sentence() -> None:
    assert "cglens view FILE" in json.dumps(page_at(create_app(Store([])), "/"))


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (0, ["nvjet_sm90_tst", "blocks per multiprocessor", "50 %", "programmatic, port 1"]),
        (1, ["conditional", "Bodies", "else", "2 nodes", "0x11"]),
        (2, ["4 MiB", "0x7f100000"]),
        (5, ["4 KiB", "word", "kept", "field 9"]),
        (6, ["None: it ends the graph."]),
    ],
)
def test_details_have_every_field_of_a_node(app: dash.Dash, node: int, expected: list[str]) -> None:
    shown = details_at(app, page="graph", recording="run", graph=BODIES, node=node)
    for text in expected:
        assert text in shown


def test_details_of_a_graph_and_of_a_recording(app: dash.Dash) -> None:
    graph = details_at(app, page="graph", recording="run", graph=BODIES)
    for text in ("train.py:41 in bodies", "MainThread", "0x55d0c0ffee00", "not asked for"):
        assert text in graph
    assert "4242" in details_at(app, page="overview", recording="run")


def test_matches_are_positions(app: dash.Dash) -> None:
    query = {"page": "graph", "recording": "run", "graph": BODIES, "body": "", "search": "type:mem"}
    answer = call(app, f"{Shell.MATCHES}.data", {f"{Shell.QUERY}.data": query})
    assert answer[Shell.MATCHES]["data"] == {"search": "type:mem", "indices": [2, 4], "text": "2"}


def test_the_table_of_nodes_comes_in_blocks(app: dash.Dash) -> None:
    request = {
        "startRow": 0,
        "endRow": 3,
        "sortModel": [{"colId": "successors", "sort": "desc"}],
        "filterModel": {"type": {"filter": "kernel"}},
    }
    answer = call(
        app,
        f"{GraphPage.TABLE}.getRowsResponse",
        {
            f"{GraphPage.TABLE}.getRowsRequest": request,
            f"{Shell.PLACE}.data": {"recording": "run", "graph": BODIES, "body": ""},
        },
    )
    response = answer[GraphPage.TABLE]["getRowsResponse"]
    assert response["rowCount"] == 2
    assert [row["position"] for row in response["rowData"]] == [3, 0]


def test_a_failure_of_ours_is_a_sentence_in_the_page(
    app: dash.Dash, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Store, "get", lambda self, recording="": 1 // 0)
    body = {
        "output": f"{Shell.DETAILS}.children",
        "outputs": {"id": Shell.DETAILS, "property": "children"},
        "inputs": [{"id": Shell.FOCUS, "property": "data", "value": {"page": "overview"}}],
        "state": [],
        "changedPropIds": [f"{Shell.FOCUS}.data"],
    }
    answer = app.server.test_client().post("/_dash-update-component", json=body)
    assert "ZeroDivisionError" in answer.get_data(as_text=True)
    assert Shell.PROBLEM in answer.get_data(as_text=True)
    assert "ZeroDivisionError" in caplog.text


def test_scenes_and_exports_over_http(app: dash.Dash) -> None:
    client = app.server.test_client()
    scene = client.get("/scene/run", query_string={"graph": LAYERS})
    assert scene.status_code == 200
    assert scene.data[:4] == b"CGLS"
    small = client.get(
        "/scene/run", query_string={"graph": LAYERS}, headers={"Accept-Encoding": "gzip"}
    )
    assert small.headers["Content-Encoding"] == "gzip"
    assert len(small.data) < len(scene.data)
    assert client.get("/scene/run", query_string={"graph": "no"}).status_code == 404
    assert client.get("/scene/zzz", query_string={"graph": LAYERS}).status_code == 404
    dot = client.get("/export/run", query_string={"graph": LAYERS, "format": "dot"})
    assert dot.status_code == 200
    assert b"digraph" in dot.data
    assert dot.headers["Content-Disposition"].startswith('attachment; filename="run-')
    assert client.get("/export/run?format=nope").status_code == 404


def test_the_export_menu_offers_what_can_be_written(app: dash.Dash) -> None:
    menu = json.dumps(page_at(app, "/graph")[Shell.EXPORT]["children"])
    assert "/export/run?format=dot&graph=" in menu


def test_a_dropped_in_page_appears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hello.py").write_text(
        '"""A page."""\n'
        "from dash import html\n"
        "from graphviz_app.pages import Page\n"
        "PAGE = Page(name='hello', title='Hello', order=99, description='Says hello',\n"
        "            layout=lambda context: html.P('hello ' + context.state.recording),\n"
        "            skeleton=lambda: html.P())\n"
    )
    monkeypatch.setattr(pages_package, "__path__", [*pages_package.__path__, str(tmp_path)])
    pages.cache_clear()
    try:
        assert isinstance(pages()["hello"], Page)
        app = create_app(Store([("run.cgl", synthetic.typical())]))
        answer = page_at(app, "/hello")
        assert "hello run" in json.dumps(answer[Shell.CONTENT])
        assert "Says hello" in json.dumps(answer[Shell.RAIL])
    finally:
        pages.cache_clear()


def test_two_apps_do_not_mix(app: dash.Dash) -> None:
    other = create_app(Store([("other.cgl", synthetic.recording({}))]))
    assert "layers batch_size=1" in json.dumps(page_at(app, "/"))
    assert "layers batch_size=1" not in json.dumps(page_at(other, "/"))


def test_behind_a_prefix() -> None:
    settings = Settings(prefix="lens")
    app = create_app(Store([("run.cgl", synthetic.typical())]), settings)
    client = app.server.test_client()
    page = client.get("/lens/").get_data(as_text=True)
    assert '"/lens/assets/shell/theme-early.js"' in page
    assert client.get("/lens/scene/run", query_string={"graph": LAYERS}).status_code == 200
    assert client.get("/").status_code == 404


def test_serving_a_saved_recording_loads_no_torch_and_no_cuda() -> None:
    program = f"""
import sys
from pathlib import Path
from graphviz_app.app import create_app
from graphviz_app.store import Store
store = Store.open([Path({str(DOT)!r})])
client = create_app(store).server.test_client()
key = next(iter(store.get().recording.graphs))
assert client.get("/").status_code == 200
assert client.get("/scene/" + store.get().id, query_string={{"graph": key}}).status_code == 200
print([name for name in sys.modules if name.split(".")[0] in ("torch", "cuda", "cupti")])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_assets_are_found_in_a_checkout_and_in_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphviz_app import app as module

    assert (module.assets_folder() / "shell" / "address.js").is_file()
    installed = tmp_path / "graphviz_app"
    (installed / "assets").mkdir(parents=True)
    monkeypatch.setattr(module, "PACKAGE", installed)
    assert module.assets_folder() == installed / "assets"


def test_every_script_and_style_of_ours_is_on_the_page(app: dash.Dash) -> None:
    page = app.server.test_client().get("/").get_data(as_text=True)
    folder = Path(app.config.assets_folder)
    for path in [*folder.glob("*.css"), *folder.glob("*.js"), *(folder / "shell").glob("*.js")]:
        assert path.name in page


def test_a_graph_that_cannot_be_read_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    run = synthetic.recording({"a": synthetic.chain(3)}, failed=False)
    run._graphs.clear()

    def broken(key: str) -> Any:
        raise FormatError(f"the stored graph {key} is damaged: expected 3 columns, found 2")

    run._load = broken
    app = create_app(Store([("run.cgl", run)]))
    content = json.dumps(page_at(app, "/graph"))
    assert "is damaged: expected 3 columns, found 2" in content
    assert "Go to the overview" in content
    client = app.server.test_client()
    assert client.get("/scene/run", query_string={"graph": "train.py:a#0"}).status_code == 422


def test_a_cycle_in_a_file_is_drawn_and_said() -> None:
    graph = synthetic.chain(3)
    graph.topology.source.append(2)
    graph.topology.target.append(0)
    store = Store([("run.cgl", synthetic.recording({"a": graph}, failed=False))])
    scene = (
        create_app(store)
        .server.test_client()
        .get("/scene/run", query_string={"graph": "train.py:a#0"})
    )
    assert b"has a cycle, which CUDA does not allow: 1 edge" in scene.data


def test_a_name_of_a_megabyte_is_cut_where_it_is_shown() -> None:
    graph = synthetic.chain(1, kinds=1)
    graph.payloads[0].kernel.name = "k" * 1_000_000
    app = create_app(Store([("run.cgl", synthetic.recording({"a": graph}, failed=False))]))
    assert len(json.dumps(page_at(app, "/graph"))) < 100_000
    shown = details_at(app, page="graph", recording="run", graph="train.py:a#0", node=0)
    assert len(shown) < 100_000


def test_modules_of_the_canvas_are_no_tags_of_the_page_and_are_served(app: dash.Dash) -> None:
    client = app.server.test_client()
    assert b".mjs" not in client.get("/").data, "they would be loaded and run twice"
    with client.get("/assets/canvas/main.mjs") as answer:
        assert (answer.status_code, answer.mimetype) == (200, "text/javascript")
