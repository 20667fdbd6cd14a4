"""What the details panel says, as data."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from capture.model import Evidence, GraphInfo, Kernel, Node, Place, Recording
from capture.nodes import node_types
from capture.nodes.kernel import KernelPayload
from graphviz_app.facts import Section
from graphviz_app.graph_facts import graph_sections, recording_sections
from graphviz_app.node_facts import node_sections
from graphviz_app.parameters import parameter_section
from tests.helpers import synthetic

RUN = synthetic.typical()
INFO = RUN.info("train.py:bodies#1")


def said(sections: list[Section]) -> dict[str, str]:
    return {f"{s.title}/{fact.label}": fact.text for s in sections for fact in s.facts}


def node(type_: str, payload: Any, **extra: Any) -> Node:
    return Node(0, type_, payload, extra)


@pytest.mark.parametrize("name", sorted(node_types()))
def test_each_node_type_shows_every_field_that_is_set(name: str) -> None:
    entry = node_types()[name]
    if entry.payload is None:
        assert node_sections(node(name, None), INFO, RUN) == []
        return
    values: dict[str, Any] = {}
    for field in entry.payload.__struct_fields__:
        default = getattr(entry.payload(), field)
        if field.endswith(("address", "handle", "_bytes")):
            values[field] = 0x1234
        elif isinstance(default, str):
            values[field] = f"some {field}"
    sections = node_sections(node(name, entry.payload(**values)), INFO, RUN)
    shown = "\n".join(said(sections).values())
    for field, value in values.items():
        if field in ("arguments_packed",):
            continue
        expected = (
            value
            if isinstance(value, str)
            else ("4.55 KiB" if field.endswith("_bytes") else "0x1234")
        )
        assert expected in shown, field


@pytest.mark.parametrize("name", sorted(n for n, entry in node_types().items() if entry.payload))
def test_fields_that_were_not_read_have_a_reason(name: str) -> None:
    info = GraphInfo(
        key="k",
        name="n",
        evidence={"parameters": Evidence(present=False, reason="a plain DOT has none")},
    )
    payload = KernelPayload(kernel=Kernel(name="k")) if name == "kernel" else None
    sections = node_sections(node(name, payload), info, RUN)
    assert any("a plain DOT has none" in section.absent for section in sections)


def test_nothing_absent_is_shown_as_zero() -> None:
    sections = node_sections(node("kernel", KernelPayload(kernel=Kernel(name="k"))), INFO, RUN)
    assert not any(text.startswith("0") for text in said(sections).values())


def test_unknown_types_and_fields_show() -> None:
    facts = said(node_sections(node("type_17", {"size_bytes": 2048}, odd=1), INFO, RUN))
    assert facts == {"Fields/size": "2 KiB", "Other fields/odd": "1"}


def test_occupancy_and_waves_need_the_device() -> None:
    payload = synthetic.kernel_payload(synthetic.kernels()[0])
    facts = said(node_sections(node("kernel", payload), INFO, RUN))
    assert facts["Resources/occupancy"] == "50 %"
    assert facts["Resources/waves"] == "0.24"
    alone = Recording(RUN.metadata, [INFO])
    facts = said(node_sections(node("kernel", payload), INFO, alone))
    assert facts["Resources/blocks per multiprocessor"] == "4"
    assert "Resources/occupancy" not in facts


def test_parameters_are_decoded_and_guesses_are_marked() -> None:
    data = struct.pack("<Qfi", 0x7F0000001000, 0.5, 64)
    layout = [(0, 8), (8, 4), (12, 4)]
    known = KernelPayload(kernel=Kernel(name="_Z5scalePffi", parameters=layout), arguments=data)
    section = parameter_section(known, "read from the driver", "")
    assert section.rows == [
        ("0", "8", "0x7f0000001000", "address"),
        ("8", "4", "0.5", "float32"),
        ("12", "4", "64", "integer"),
    ]
    assert section.notes[0] == "float* \N{MIDDLE DOT} 00100000007f0000"
    unknown = KernelPayload(kernel=Kernel(name="scale", parameters=layout), arguments=data)
    assert [row[3] for row in parameter_section(unknown, "", "").rows] == [
        "address?",
        "integer?",
        "integer?",
    ]
    assert "float32 0.5" in parameter_section(unknown, "", "").notes[1]
    assert parameter_section(KernelPayload(), "", "not read").absent == "not read"


def test_a_packed_buffer_names_the_addresses_in_it() -> None:
    data = struct.pack("<QQQ", 1, 0x7F0000001000, 2) + bytes(200)
    section = parameter_section(KernelPayload(kernel=Kernel(name="nvjet"), arguments=data), "", "")
    assert section.rows == [("0", "224", "", "bytes")]
    assert "address 0x7f0000001000 at +8" in section.notes[0]
    assert "160 bytes more" in section.notes[0]


def test_a_graph_says_where_and_how_it_was_captured() -> None:
    facts = said(graph_sections(INFO, RUN))
    assert facts["Capture/where"] == "train.py:41 in bodies"
    assert facts["Capture/label"] == "batch_size=2"
    assert facts["Capture/pool"] == "(1, 0)"
    assert facts["Executable 1/replays"] == str(RUN.executables[1].replays)
    assert facts["Evidence/parameters"] == "read through the driver, cost 2.1 ms"
    assert facts["Evidence/timings"].startswith("absent: not asked for")


def test_a_graph_from_a_file_says_that_its_capture_was_not_observed() -> None:
    info = GraphInfo(
        key="k",
        name="n",
        evidence={"capture": Evidence(present=False, reason="a DOT file does not say")},
    )
    (section,) = [s for s in graph_sections(info, RUN) if s.title == "Capture"]
    assert section.absent == "Not observed: a DOT file does not say."
    assert not section.facts


def test_the_place_and_the_extras_of_a_graph_are_kept() -> None:
    info = GraphInfo(key="k", name="n", place=Place(file="a.py", line=3), extra={"new": [1]})
    facts = said(graph_sections(info, RUN))
    assert facts["Capture/where"] == "a.py:3"
    assert facts["Other fields/new"] == "1"


def test_a_recording_says_what_it_ran_on_and_what_it_cost() -> None:
    facts = said(recording_sections(RUN))
    assert facts["GPU 0: Synthetic GPU/memory"] == "139 GiB"
    assert facts["GPU 0: Synthetic GPU/compute capability"] == "9.0"
    assert facts["Cost of recording/read graphs"] == "12 ms"
