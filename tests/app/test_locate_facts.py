"""What is said of a located node: its arguments joined to memory, findings on it."""

from __future__ import annotations

import msgspec

from capture.located import Located
from capture.model import GraphInfo, Metadata, Recording
from graphviz_app.locate_facts import culprit
from tests.helpers.synthetic_memory import BASE, POOL, graph, kernel, memory

LOST = 0x7FA000000000
SCALE = "_Z5scalePfyPKf"


def looked(*words: int, name: str = SCALE) -> Recording:
    built = graph([kernel(SCALE, BASE, 0, POOL), kernel(name, *words)])
    return Recording(
        Metadata(),
        [GraphInfo(key="k", name="k", node_count=2)],
        evidence={"memory": {"k": memory()}},
        loaded={"k": built},
    )


def located(node: str) -> Located:
    return Located(symptom="fault", graph="k", node=node, decided=True)


def test_arguments_lead_to_memory_and_findings_are_those_of_the_node() -> None:
    found = culprit(looked(BASE + 600, 7, LOST), located("1"))
    assert found is not None
    first, last = found.arguments
    assert first.startswith("argument 0, byte 0:")
    assert f"0x{LOST:x}, no memory that is known" in last
    assert any(text.startswith("Addresses of freed memory:") for text in found.findings)
    healthy = culprit(looked(BASE, 7, POOL), located("0"))
    assert healthy is not None
    assert healthy.findings == []


def test_leftovers_that_look_like_addresses_are_counted() -> None:
    found = culprit(looked(POOL, LOST, LOST + 64, name="plain"), located("1"))
    assert found is not None
    assert len(found.arguments) == 1
    assert any(note.startswith("2 more words look like addresses") for note in found.notes)


def test_without_a_node_nothing_is_said() -> None:
    nothing = msgspec.structs.replace(located(""), reason="because")
    assert culprit(looked(BASE, 0, POOL), nothing) is None
