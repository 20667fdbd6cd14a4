"""Node-link JSON: networkx reads it, and so do we."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import capture.formats as formats
from capture.errors import FormatError, InvalidGraphError, LookupFailed
from tests.formats.test_driver_dot import DATA
from tests.helpers.recordings import assert_equal, chain, recording_of


@pytest.mark.parametrize("name", [path.stem for path in sorted(DATA.glob("*.dot"))])
def test_real_graphs_survive(name: str, tmp_path: Path) -> None:
    recording = formats.read(DATA / f"{name}.dot")
    path = tmp_path / "graph.nodelink.json"
    formats.write(recording, path, "node-link")
    again = formats.read(path)
    again.metadata = recording.metadata
    assert_equal(recording, again)


def test_networkx_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "chain.json"
    formats.write(recording_of(chain(4)), path, "node-link")
    found = nx.node_link_graph(json.loads(path.read_text()), edges="edges")
    assert sorted(found.edges) == [(0, 1), (1, 2), (2, 3)]
    assert found.nodes[2]["type"] == "kernel"


def test_a_document_of_networkx_itself_is_read(tmp_path: Path) -> None:
    from capture.topology import to_networkx

    path = tmp_path / "plain.json"
    path.write_text(json.dumps(nx.node_link_data(to_networkx(chain(3)), edges="links")))
    recording = formats.read(path)
    (info,) = recording.graphs.values()
    assert info.node_count == 3
    assert not info.evidence["timings"].present
    assert info.evidence["timings"].reason
    assert recording.graph(info.key).payloads == chain(3).payloads


def test_several_graphs_need_a_choice(tmp_path: Path) -> None:
    recording = recording_of(chain(1), chain(2))
    path = tmp_path / "one.json"
    with pytest.raises(LookupFailed, match="holds one graph and the recording has 2"):
        formats.write(recording, path, "node-link")
    assert not path.exists()
    formats.write(recording, path, "node-link", graph="synthetic-1")
    assert formats.read(path).graphs["synthetic-1"].node_count == 2


def _bodies(document: Any) -> Any:
    (node,) = [node for node in document["nodes"] if node["type"] == "child_graph"]
    return node


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda d: d.update(directed=False), FormatError),
        (lambda d: d.update(multigraph=True), FormatError),
        (lambda d: d.update(nodes=3), FormatError),
        (lambda d: d.update(edges=[{"source": 0}]), FormatError),
        (lambda d: d["edges"].append({"source": 0, "target": 99}), FormatError),
        (lambda d: d["nodes"][0].pop("type"), FormatError),
        (lambda d: d["nodes"][0].update(position=5), FormatError),
        (lambda d: d.update(bodies={}), InvalidGraphError),
        (lambda d: d["bodies"].update({"9/9": d["bodies"]["1/0"]}), InvalidGraphError),
        (lambda d: _bodies(d).update(bodies="["), FormatError),
        (
            lambda d: _bodies(d).update(bodies='[{"index": 0, "role": "child", "graph": "10/0"}]'),
            InvalidGraphError,
        ),
    ],
)
def test_documents_that_are_wrong(tmp_path: Path, change: Any, error: type[Exception]) -> None:
    path = tmp_path / "graph.json"
    formats.write(formats.read(DATA / "alltypes_all.dot"), path, "node-link")
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(error):
        formats.read(path)


def test_a_body_that_holds_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    formats.write(formats.read(DATA / "alltypes_all.dot"), path, "node-link")
    document = json.loads(path.read_text())
    inner = document["bodies"]["1/0"]
    inner["nodes"][0] = {
        "id": 0,
        "type": "child_graph",
        "bodies": '[{"index": 0, "role": "child", "graph": "1/0"}]',
    }
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidGraphError, match="expected '1/0/0/0'"):
        formats.read(path)
