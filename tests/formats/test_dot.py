"""DOT for Graphviz: rendered by the real thing without a warning, whatever is in the names."""

from __future__ import annotations

import re
import subprocess
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capture.formats as formats
from capture.errors import LookupFailed, OutputError, UnknownFormatError
from capture.formats import dot
from capture.model import Body, Failure, Graph, GraphInfo, Metadata, Recording, Topology
from capture.nodes import node_types
from tests.formats.test_driver_dot import DATA
from tests.helpers.recordings import chain, graphs, recording_of


def text_of(recording: Recording, key: str | None = None) -> str:
    stream = BytesIO()
    formats.write_stream(recording, stream, "dot", key)
    return stream.getvalue().decode()


def render(text: str) -> ElementTree.Element:
    """Draw with Graphviz, fail on any warning, and return the SVG."""
    done = subprocess.run(["dot", "-Tsvg"], input=text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    return ElementTree.fromstring(done.stdout)


def titles(svg: ElementTree.Element, kind: str) -> list[str]:
    space = "{http://www.w3.org/2000/svg}"
    return [
        group.findtext(f"{space}title") or ""
        for group in svg.iter(f"{space}g")
        if group.get("class") == kind
    ]


def shown(svg: ElementTree.Element) -> str:
    return "\n".join(item.text or "" for item in svg.iter("{http://www.w3.org/2000/svg}text"))


@pytest.mark.parametrize("name", [path.stem for path in sorted(DATA.glob("*.dot"))])
def test_real_graphs_render_without_a_warning(name: str) -> None:
    recording = formats.read(DATA / f"{name}.dot")
    svg = render(text_of(recording))
    (info,) = recording.graphs.values()
    assert len(titles(svg, "node")) == info.node_count
    assert len(titles(svg, "cluster")) == info.body_count
    assert len(titles(svg, "edge")) == info.edge_count + info.body_count


@given(graphs())
@settings(max_examples=25, deadline=None)
def test_any_graph_renders_without_a_warning(graph: Graph) -> None:
    svg = render(text_of(recording_of(graph)))
    empty = sum(1 for path, level in graph.walk() if path and not len(level))
    count = sum(len(level) for _, level in graph.walk()) + empty
    assert len(titles(svg, "node")) == count


@given(st.text(max_size=30))
@settings(max_examples=60, deadline=None)
def test_any_name_is_shown_as_it_is(name: str) -> None:
    svg = render(f"digraph {{ a [label={dot.quote(name)}] }}")
    expected = re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ufffe\uffff]", "\ufffd", name)
    assert shown(svg).split() == expected.split()


NASTY = [
    'quote " and backslash \\ and \\" both',
    "ends with a backslash \\",
    "line\nbreak \\n \\l \\r \\N \\G \\E",
    "<b>markup</b> &amp; &lt; &nosuch; <script>alert(1)</script>",
    "{record | <port> field}",
    "%s %n \x00 \x1b[31m \x7f",
    "]; evil [label=x",
    "名前 — ελληνικά",
]


@pytest.mark.parametrize("name", NASTY)
def test_nasty_names(name: str) -> None:
    graph = chain(2, name)
    graph.name = name
    svg = render(text_of(recording_of(graph)))
    assert len(titles(svg, "node")) == 2
    assert not list(svg.iter("{http://www.w3.org/2000/svg}script"))


def test_a_megabyte_name_is_bounded() -> None:
    text = text_of(recording_of(chain(3, "_Z" + "n" * (1 << 20))))
    assert len(text) < 20_000
    render(text)


def test_every_category_has_a_colour_of_its_own() -> None:
    used = {dot.COLOURS[entry.category] for entry in node_types().values()}
    assert len(used) == len({entry.category for entry in node_types().values()})
    text = text_of(formats.read(DATA / "alltypes_all.dot"))
    assert set(re.findall(r'fillcolor="(#\w+)"', text)) == used


@pytest.mark.parametrize("fill", sorted(set(dot.COLOURS.values())))
def test_text_can_be_read_on_its_colour(fill: str) -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(fill), luminance(dot.ink(fill))), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_bodies_are_clusters_in_clusters_reached_from_their_node() -> None:
    inner = Graph(topology=Topology(types=["child_graph"]), payloads=[None])
    inner.bodies.append(Body(node=0, index=0, role="child", graph=chain(2)))
    outer = Graph(topology=Topology(types=["empty", "conditional"]), payloads=[None, None])
    outer.bodies.append(Body(node=1, index=0, role="if", graph=inner))
    text = text_of(recording_of(outer))
    svg = render(text)
    assert titles(svg, "cluster") == ["cluster_n1_0_", "cluster_n1_0_0_0_"]
    assert "n1->n1_0_0" in titles(svg, "edge")
    assert 'n1 -> n1_0_0 [lhead="cluster_n1_0_"' in text
    assert "if of node 1" in shown(svg)


def test_names_are_readable_and_the_full_one_is_in_the_tooltip() -> None:
    text = text_of(formats.read(DATA / "block12_verbose.dot"))
    assert 'label="Gelu (vectorized_elementwise)"' in text
    assert "at::native::GeluCUDAKernelImpl" in text
    assert "_ZN2at6native29" not in text


def test_programmatic_edges_are_told_apart() -> None:
    graph = chain(2)
    graph.topology.from_port = [1]
    graph.topology.edge_type = [1]
    assert 'tooltip="programmatic, from port 1 to port 0"' in text_of(recording_of(graph))


def test_several_graphs_need_a_choice() -> None:
    recording = recording_of(chain(1), chain(2))
    with pytest.raises(LookupFailed, match="--graph KEY"):
        text_of(recording)
    assert text_of(recording, "synthetic-1").count("fillcolor=") == 2


def test_a_failed_capture_beside_the_only_graph_needs_no_choice() -> None:
    recording = recording_of(chain(2))
    failure = Failure(error="X", message="", nodes_read=False, reason="gone")
    recording.failed["f"] = GraphInfo(key="f", name="f", failure=failure)
    assert text_of(recording).count("fillcolor=") == 2


def test_a_failed_capture_without_nodes_cannot_be_drawn() -> None:
    failure = Failure(error="X", message="", nodes_read=False, reason="gone")
    info = GraphInfo(key="f", name="f", failure=failure)
    with pytest.raises(OutputError, match="could not be read"):
        text_of(Recording(Metadata(), [], [info]))


def test_reading_it_again_says_why_not(tmp_path: Path) -> None:
    path = tmp_path / "ours.dot"
    formats.write(recording_of(chain(2)), path)
    with pytest.raises(UnknownFormatError, match="can only be written"):
        formats.read(path)
