"""Where nodes come from, in the formats that hold plain attributes."""

from __future__ import annotations

import io
import json
import shutil
import subprocess

import pytest

from capture import from_networkx, to_networkx
from capture.formats import write_stream
from capture.model import Recording
from tests.helpers import origins

MLP = origins.line_of(origins.SOURCE, "self.down(F.gelu")
GELU = 10
"""Position of the first layer's gelu."""
EXPECTED = {
    "origin_line": f"{origins.FILE}:{MLP}",
    "origin_module": "blocks.0.mlp",
    "origin_operator": "aten.gelu.default",
    "origin_phase": "forward",
}


@pytest.fixture(scope="module")
def made() -> Recording:
    return origins.recording(origins.transformer(1))


def exported(recording: Recording, name: str) -> str:
    stream = io.BytesIO()
    write_stream(recording, stream, name, next(iter(recording.graphs)))
    return stream.getvalue().decode()


def test_networkx_nodes_have_their_origin_and_come_back_without(made: Recording) -> None:
    (key,) = made.graphs
    found = to_networkx(made.graph(key), "", made.origins(key))
    attributes = found.nodes[GELU]
    assert {name: attributes[name] for name in EXPECTED} == EXPECTED
    assert from_networkx(found) == made.graph(key)
    assert not any(name.startswith("origin_") for name in to_networkx(made.graph(key)).nodes[GELU])


def test_node_link_has_them(made: Recording) -> None:
    node = json.loads(exported(made, "node-link"))["nodes"][GELU]
    assert {name: node[name] for name in EXPECTED} == EXPECTED


def test_dot_has_them_and_graphviz_reads_it(made: Recording) -> None:
    text = exported(made, "dot")
    (line,) = [line for line in text.splitlines() if line.startswith(f"  n{GELU} [")]
    assert 'origin_module="blocks.0.mlp"' in line
    assert "module blocks.0.mlp" in line.partition("tooltip=")[2]
    dot = shutil.which("dot")
    assert dot, "Graphviz is needed for this test"
    done = subprocess.run([dot, "-Tcanon"], input=text, text=True, capture_output=True, check=True)
    assert "aten.gelu.default" in done.stdout


def test_a_perfetto_slice_has_them(made: Recording) -> None:
    trace = json.loads(exported(made, "perfetto"))
    (slice_,) = [
        event for event in trace["traceEvents"] if event.get("args", {}).get("node") == str(GELU)
    ]
    assert slice_["args"].items() >= EXPECTED.items()


def test_a_fused_kernel_lists_all_it_came_from() -> None:
    made = origins.recording(origins.compiled())
    (key,) = made.graphs
    attributes = to_networkx(made.graph(key), "", made.origins(key)).nodes[0]
    assert attributes["origin_module"] == "blocks.0; norm"
    assert attributes["origin_line"].count("; ") == 1
