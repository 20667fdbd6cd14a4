"""Modules, operators and source lines on the screen, on synthetic origins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dash
import numpy as np
import pytest

from capture.analysis import Column, Result, Unit
from capture.errors import FormatError
from capture.model import Failure, Recording
from capture.origin_index import OriginIndex
from capture.origins import Module, Origins
from graphviz_app import node_rows, origin_rows, source_rows
from graphviz_app.app import create_app
from graphviz_app.components import result_view
from graphviz_app.components.tree_table import VISIBLE, TreeRow, open_rows
from graphviz_app.context import Context
from graphviz_app.figures.origin_colourings import by_module, module_groups
from graphviz_app.figures.scene import decode_scene
from graphviz_app.ids import Shell
from graphviz_app.origin_facts import folded, node_origin
from graphviz_app.search import term
from graphviz_app.source_access import SourceAccess
from graphviz_app.source_changes import changes
from graphviz_app.state import ViewState
from graphviz_app.store import Store
from tests.helpers import origins, synthetic

from .test_app import details_at, page_at

DEPTH = 3
MLP = origins.line_of(origins.SOURCE, "self.down(F.gelu")


@pytest.fixture(scope="module")
def store() -> Store:
    made = origins.recording(origins.transformer(DEPTH), origins.compiled())
    return Store([("o", made), ("plain", synthetic.typical())])


@pytest.fixture(scope="module")
def app(store: Store) -> dash.Dash:
    return create_app(store)


@pytest.fixture(scope="module")
def keys(store: Store) -> list[str]:
    return list(store.get("o").recording.graphs)


def context_of(store: Store, key: str, page: str = "modules") -> Context:
    return Context(store, ViewState(page=page, recording="o", graph=key))


def content(app: dash.Dash, page: str, key: str, view: str = "") -> str:
    search = f"?recording=o&graph={quote(key)}" + (f"&view={quote(view)}" if view else "")
    return json.dumps(page_at(app, f"/{page}", search)[Shell.CONTENT]["children"])


@pytest.mark.parametrize("field", ["module", "operator", "phase", "source"])
@pytest.mark.parametrize("graph", [0, 1])
def test_each_legend_entry_finds_as_many_nodes_as_it_counts(
    store: Store, keys: list[str], field: str, graph: int
) -> None:
    picture = store.picture("o", keys[graph])
    legend = picture.colourings[field].legend
    assert sum(entry.count for entry in legend) == picture.count
    for entry in legend:
        assert len(picture.index.find(term(field, entry.name))) == entry.count, entry.name


def test_modules_are_coloured_layer_by_layer_and_keep_their_colours(store: Store) -> None:
    small, large = (
        Store([("o", origins.recording(origins.transformer(depth)))]) for depth in (DEPTH, 6)
    )
    names = {}
    for one in (small, large):
        (key,) = one.get("o").recording.graphs
        legend = one.picture("o", key).colourings["module"].legend
        names[one] = {entry.name: entry.colour for entry in legend}
    assert {f"blocks.{layer}" for layer in range(DEPTH)} <= set(names[small])
    shared = [name for name in names[small] if name.startswith("blocks.")]
    assert all(names[small][name] == names[large][name] for name in shared)


def test_the_tooltip_has_duration_module_and_line(store: Store, keys: list[str]) -> None:
    header = decode_scene(store.picture("o", keys[0]).scene).header
    assert f"25.1 µs · blocks.0.mlp · model.py:{MLP}" in header["notes"]


def test_a_wrapper_that_holds_everything_is_opened(store: Store, keys: list[str]) -> None:
    index = store.origins("o", keys[0])
    assert index is not None
    groups, opened = module_groups(index)
    assert [index.modules[at].path for at in opened] == [""]
    assert "blocks.0" in [index.modules[at].path for at in groups]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("module:blocks.1", 24),
        ("module:blocks.1.attn", 8),
        ("module:attn.proj", 3 * DEPTH),
        ("module:transformer", 24 * DEPTH + 7),
        ("module:#0", 24 * DEPTH + 7),
        ("module:#999", 0),
        ("class:attention", 8 * DEPTH),
        ("class:Attention phase:backward", 5 * DEPTH),
        ("operator:aten.addmm.default", 4 * DEPTH),
        ("operator:addmm", 4 * DEPTH),
        (f"source:model.py:{MLP}", 8 * DEPTH),
        (f"source:project/model.py:{MLP}", 8 * DEPTH),
        (f"model.py:{MLP}", 8 * DEPTH),
        (f"odel.py:{MLP}", 8 * DEPTH),
        ("source:train.py", 2 + 4 + 5),
        ("source:nothing.py", 0),
        ("source::3", 0),
        ("autograd:gelu", DEPTH),
        ("thread:autograd phase:forward", 0),
        ("blocks.2.mlp.up", 3),
        ("gelu", 2 * DEPTH),
        ("inputs:99999", 0),
    ],
)
def test_search_finds_nodes_by_where_they_come_from(
    store: Store, keys: list[str], query: str, found: int
) -> None:
    assert len(store.find("o", keys[0], "", query)) == found


def test_two_models_with_parts_of_one_name_are_told_apart() -> None:
    build, graph = origins.transformer(1)
    second = build.module("", "Critic")
    inner = build.module("blocks.0", "Block", second)
    build.origins.module[-1] = inner
    store = Store([("o", origins.recording((build, graph)))])
    (key,) = store.get("o").recording.graphs
    report = store.by_origin("o", key)
    assert report is not None
    rows = origin_rows.module_rows(context_of(store, key), report)
    named = {row.id: json.loads(row.link["go"])["search"] for row in rows if row.link}
    assert named[f"m{inner}"] == f"module:#{inner}"
    assert len(store.find("o", key, "", named[f"m{inner}"])) == 1


def test_each_row_leads_to_as_many_nodes_as_it_counts(store: Store, keys: list[str]) -> None:
    for key in keys:
        report = store.by_origin("o", key)
        assert report is not None
        context = context_of(store, key)
        rows = [
            *origin_rows.module_rows(context, report),
            *origin_rows.class_rows(context, report),
            *origin_rows.operator_rows(context, report),
        ]
        for row in rows:
            if row.link is not None:
                search = json.loads(row.link["go"])["search"]
                assert len(store.find("o", key, "", search)) == row.values["nodes"], search


def test_each_line_leads_to_as_many_nodes_as_it_counts(store: Store, keys: list[str]) -> None:
    for key in keys:
        report = store.by_origin("o", key)
        assert report is not None
        for file in report.lines.files:
            rows = source_rows.line_rows(context_of(store, key), report, file, [])
            for row in rows:
                if "link" in row:
                    search = json.loads(row["link"]["go"])["search"]
                    assert len(store.find("o", key, "", search)) == row["nodes"], search


def test_a_file_is_shown_whole_with_its_charged_lines(store: Store, keys: list[str]) -> None:
    report = store.by_origin("o", keys[0])
    assert report is not None
    file, line = source_rows.chosen_place(f"{origins.FILE}:{MLP}", report.lines.files)
    assert file is not None
    lines = origins.SOURCE.splitlines()
    rows = source_rows.line_rows(context_of(store, keys[0]), report, file, lines, line)
    assert [row["code"] for row in rows] == lines
    (marked,) = [row for row in rows if row["chosen"]]
    assert marked["line"] == MLP
    assert marked["nodes"] == 8 * DEPTH
    assert marked["exact"]["back"].endswith(f" ns of {5 * DEPTH} nodes")
    blank = rows[2 - 1]
    assert "nodes" not in blank
    short = source_rows.line_rows(context_of(store, keys[0]), report, file, lines[:5])
    assert [row["line"] for row in short[:6]] == [1, 2, 3, 4, 5, short[5]["line"]]
    assert short[5]["where"].startswith("in "), "a line past the end keeps its function"


@pytest.mark.parametrize("view", ["/nowhere.py", "/nowhere.py:3", f"{origins.FILE}:x", ":", ":1"])
def test_a_file_that_is_not_there_is_a_sentence(app: dash.Dash, keys: list[str], view: str) -> None:
    assert "No node of this graph comes from" in content(app, "source", keys[0], view)


def test_without_stored_text_the_page_says_how_to_show_it(tmp_path: Path) -> None:
    made = origins.recording(origins.transformer(1, sources=False))
    app = create_app(Store([("o", made)]))
    (key,) = made.graphs
    shown = content(app, "source", key, origins.FILE)
    assert "--sources DIR" in shown
    assert "in forward" in shown
    (tmp_path / "model.py").write_text(origins.SOURCE)
    app = create_app(Store([("o", made)], sources=SourceAccess([tmp_path], "vscode")))
    shown = content(app, "source", key, origins.FILE)
    assert "may have changed since the recording" in shown
    assert "scaled_dot_product_attention" in shown
    assert f"vscode://file{tmp_path}/model.py:1" in shown
    (tmp_path / "model.py").write_text(f"# one more line\n\n\n\n\n\n\n\n{origins.SOURCE}")
    assert "It has changed." in content(app, "source", key, origins.FILE)


def test_changes_are_seen_by_line_count_and_function(store: Store, keys: list[str]) -> None:
    report = store.by_origin("o", keys[0])
    assert report is not None
    recorded = [row.line for row in report.lines.rows if row.line.file == origins.FILE]
    lines = origins.SOURCE.splitlines()
    assert changes(lines, recorded) == []
    assert "now has 20 lines" in changes(lines[:20], recorded)[0]
    assert changes(lines, [recorded[0]._replace(function="Model.<locals>.<lambda>")]) == []
    (moved,) = changes(lines, [recorded[0]._replace(function="gone")])
    assert "was in gone, and is now in forward" in moved
    assert changes(["def broken("] * 100, recorded) == []


def test_markup_in_names_stays_text(tmp_path: Path) -> None:
    build, graph = origins.transformer(1)
    evil = "<img src=x onerror=alert(1)>"
    build.origins.modules[1] = type(build.origins.modules[1])(evil, evil, 0)
    made = origins.recording((build, graph))
    app = create_app(Store([("o", made)]))
    shown = json.dumps(page_at(app, "/modules")[Shell.CONTENT]["children"])
    assert json.dumps(evil)[1:-1] in shown
    assert "DangerouslySetInnerHTML" not in shown
    assert "dangerously_allow_html" not in shown.lower()


@pytest.mark.parametrize("page", ["modules", "operators", "source"])
def test_pages_without_origins_say_why_and_how(app: dash.Dash, page: str) -> None:
    shown = json.dumps(page_at(app, f"/{page}", "?recording=plain")[Shell.CONTENT]["children"])
    assert "No origins" in shown
    assert "cglens record" in shown


def test_the_graph_page_says_why_it_cannot_colour_by_origin(app: dash.Dash) -> None:
    shown = json.dumps(page_at(app, "/graph", "?recording=plain")[Shell.CONTENT]["children"])
    assert '"value": "module"' in shown
    assert "No origins" in shown


@pytest.mark.parametrize("page", ["modules", "operators", "source"])
def test_a_chosen_row_is_marked(app: dash.Dash, keys: list[str], page: str) -> None:
    view = {
        "modules": "blocks.1.attn.qkv",
        "operators": "aten.gelu.default",
        "source": f"{origins.FILE}:{MLP}",
    }[page]
    shown = json.loads(content(app, page, keys[0], view))
    (table,) = tables(shown)
    marked = [row for row in table["rowData"] if row["chosen"]]
    assert len(marked) == 1
    assert table["scrollTo"]["rowId"] == marked[0]["id"]
    assert all(opened for _, opened in marked[0].get("above", []))


def tables(component: Any) -> list[dict[str, Any]]:
    """Return the properties of every table in a tree of components."""
    if isinstance(component, list):
        return [found for item in component for found in tables(item)]
    if not isinstance(component, dict):
        return []
    props = component.get("props", {})
    own = [props] if component.get("type") == "AgGrid" else []
    return own + tables(props.get("children"))


def test_a_tree_opens_whole_levels_while_they_fit() -> None:
    rows = [TreeRow("r", "", "root")]
    rows += [TreeRow(f"a{i}", "r", "a") for i in range(10)]
    rows += [TreeRow(f"b{i}.{j}", f"a{i}", "b") for i in range(10) for j in range(10)]
    assert open_rows(rows) == {"r"}
    assert open_rows(rows, "b3.4") == {"r", "a3"}
    assert open_rows(rows[:1]) == set()
    assert len(rows) > VISIBLE


def test_the_panel_says_where_a_node_comes_from(app: dash.Dash, keys: list[str]) -> None:
    shown = details_at(app, page="graph", recording="o", graph=keys[0], node=5)
    for text in ("blocks.0.attn", "aten._scaled_dot_product", "bfloat16[8, 12, 1024, 64]"):
        assert text in shown
    assert f"/source?recording=o&graph={quote(keys[0], safe='/:,')}" in shown
    backward = store_node(app, keys[0], "phase:backward")
    shown = details_at(app, page="graph", recording="o", graph=keys[0], node=backward)
    assert "forward line" in shown
    assert "Forward stack" in shown
    shown = details_at(app, page="graph", recording="o", graph=keys[1], node=0)
    for text in ("fused operators", "modules", "lines", "triton_red_fused_add_native_layer_norm_0"):
        assert text in shown
    shown = details_at(app, page="graph", recording="plain", node=0)
    assert "No origins" in shown


def store_node(app: dash.Dash, key: str, query: str) -> int:
    made = origins.recording(origins.transformer(DEPTH), origins.compiled())
    return Store([("o", made)]).find("o", key, "", query)[0]


def test_library_frames_are_folded() -> None:
    build, graph = origins.transformer(1)
    store = Store([("o", origins.recording((build, graph)))])
    (key,) = store.get("o").recording.graphs
    index = store.origins("o", key)
    assert index is not None
    found = node_origin(index, 4)
    parts = folded(found.stack)
    assert next(len(part.frames) for part in parts if part.is_library) == 2
    assert sum(len(part.frames) for part in parts) == len(found.stack)


def test_tables_of_nodes_sort_and_filter_by_origin(store: Store, keys: list[str]) -> None:
    picture = store.picture("o", keys[0])
    request = {
        "startRow": 0,
        "endRow": 100,
        "sortModel": [{"colId": "module", "sort": "desc"}],
        "filterModel": {"operator": {"filter": "addmm"}},
    }
    answer = node_rows.block(picture, request)
    assert answer["rowCount"] == 4 * DEPTH
    modules = [row["module"] for row in answer["rowData"]]
    assert modules == sorted(modules, reverse=True)
    assert answer["rowData"][0]["source"].startswith("model.py:")
    plain = store.picture("plain", next(iter(store.get("plain").recording.graphs)))
    assert "module" not in node_rows.row(plain, 0)


def test_damaged_origins_cost_only_themselves(store: Store) -> None:
    def broken() -> Origins:
        raise FormatError("origins.json is cut off")

    made = synthetic.typical()
    key = next(iter(made.graphs))
    damaged = Recording(
        made.metadata,
        list(made.graphs.values()),
        executables=made.executables,
        processes=made.processes,
        load=made.graph,
        timings={id_: timings for id_ in made.timed if (timings := made.timings(id_))},
        origins={key: broken},
    )
    app = create_app(Store([("d", damaged)]))
    shown = json.dumps(page_at(app, "/source")[Shell.CONTENT]["children"])
    assert "the origins cannot be read: origins.json is cut off" in shown
    assert "median" in details_at(app, page="graph", recording="d", graph=key, node=2)


def test_a_large_graph_is_added_up_once_and_in_full() -> None:
    made = origins.transformer(800, sources=False)
    store = Store([("o", origins.recording(made))])
    (key,) = store.get("o").recording.graphs
    report = store.by_origin("o", key)
    assert report is not None
    assert report is store.by_origin("o", key)
    outermost = [row.total.nodes for row in report.modules if row.parent < 0]
    assert sum(outermost) == len(made[1]) > 20_000
    rows = origin_rows.module_rows(context_of(store, key), report)
    assert len(rows) == origin_rows.MOST_ROWS < len(report.modules)
    last = next(row for row in report.modules if row.path == "blocks.799.mlp.up")
    rows = origin_rows.module_rows(context_of(store, key), report, f"m{last.module}")
    ids = {row.id for row in rows}
    assert f"m{last.module}" in ids
    assert all(not row.parent or row.parent in ids for row in rows)
    colouring = store.picture("o", key).colourings["module"]
    assert np.bincount(colouring.index).sum() == len(made[1])
    assert len(colouring.legend) < 60


def test_the_panel_of_a_graph_says_of_how_many_nodes_the_origin_is_known(
    app: dash.Dash, keys: list[str]
) -> None:
    shown = details_at(app, page="graph", recording="o", graph=keys[0])
    total = 24 * DEPTH + 7 + 4 + 2 + 5
    assert f"{total} (100 %)" in shown
    assert f"{24 * DEPTH + 7} (" in shown, "the loss, the optimizer and zeroing have no module"


def test_the_source_page_opens_at_the_selected_node(app: dash.Dash, keys: list[str]) -> None:
    search = f"?recording=o&graph={quote(keys[0])}&node=0"
    shown = page_at(app, "/source", search)[Shell.CONTENT]["children"]
    (table,) = tables(json.loads(json.dumps(shown)))
    (marked,) = [row for row in table["rowData"] if row["chosen"]]
    assert "zero_grad" in marked["code"]
    assert table["scrollTo"]["rowId"] == marked["id"]


def test_a_failed_capture_has_its_origins_too() -> None:
    build, graph = origins.transformer(1)
    made = origins.recording((build, graph), timed=False)
    (key,) = made.graphs
    info = made.graphs[key]
    info.failure = Failure(error="cudaErrorStreamCaptureUnsupported", message="no")
    failed = Recording(made.metadata, [], [info], load=made.graph, origins={key: build.origins})
    app = create_app(Store([("f", failed)]))
    for page in ("modules", "operators", "source"):
        shown = json.dumps(
            page_at(app, f"/{page}", f"?recording=f&graph={quote(key)}")[Shell.CONTENT]["children"]
        )
        assert "blocks.0" in shown or "aten.addmm" in shown or "model.py" in shown
    assert "blocks.0.norm1" in details_at(app, page="graph", recording="f", graph=key, node=3)


def test_lines_in_tables_of_results_lead_to_the_source_page() -> None:
    store = Store([("run", origins.recording(origins.transformer(2)))])
    key = next(iter(store.get("").recording.graphs))
    context = Context(store, ViewState("analyses", "run", key))
    place = f"{origins.FILE}:21 forward"
    result = Result(
        columns=[Column("allocated at", Unit.TEXT), Column("why", Unit.TEXT)],
        rows=[(place, "no place: at all"), ("/elsewhere/a/b.py:2 f", "")],
        summary="synthetic",
    )
    here, elsewhere = result_view.rows_of(context, result)
    assert json.loads(here["links"]["c0"]["go"]) == {"page": "source", "view": place.split()[0]}
    assert (here["texts"]["c0"], here["exact"]["c0"]) == ("project/model.py:21 forward", place)
    assert "c1" not in here["links"]
    assert elsewhere["links"] == {}


def test_a_module_whose_path_is_a_number_has_its_class_in_the_legend() -> None:
    build, _ = origins.transformer(1)
    build.origins.modules[:] = [Module("", "Sequential", -1), Module("0", "Linear", 0)]
    build.origins.module[:] = [1] * len(build.types)
    legend = by_module(OriginIndex(build.origins, len(build.types))).legend
    assert [entry.name for entry in legend] == ["0 Linear"]
