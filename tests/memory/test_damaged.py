"""Stored memory that was changed by accident or on purpose: refused, or shown without failing."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capture.analysis import Subject, run_analysis
from capture.codec import decode_evidence, encode_evidence
from capture.errors import FormatError
from capture.evidence import STORED
from capture.memory_map import Memory
from capture.model import Metadata, Process, Recording
from graphviz_app.figures.memory import address_map, lifetime_map, use_map
from graphviz_app.memory_rows import node_section, rows_of
from tests.helpers.synthetic_memory import KEY, memory, recording

VALUES = st.one_of(
    st.none(),
    st.integers(-2, 9),
    st.sampled_from([1 << 70, -(1 << 40), 1 << 47, 0.5, True, "x", [], {}, [1], [[0, 0]]]),
)


def places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        found.append((value, key))
        if isinstance(inner, (dict, list)):
            found += places(inner)
    return found


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(("change", "drop", "repeat")), st.booleans())
def test_damaged_memory_is_refused_or_shown(data: st.DataObject, how: str, packed: bool) -> None:
    import msgspec

    kind = STORED["memory"]
    whole = encode_evidence(kind, memory(KEY)) if packed else msgspec.to_builtins(memory(KEY))
    document = copy.deepcopy(whole)
    spots = places(document)
    holder, key = spots[data.draw(st.integers(0, len(spots) - 1))]
    if how == "change":
        holder[key] = data.draw(VALUES)
    elif how == "drop":
        del holder[key]
    elif isinstance(holder, list):
        holder.append(holder[key])
    try:
        found: Memory = decode_evidence(kind, document, "it")
    except FormatError:
        return
    look(found)


def look(found: Memory) -> None:
    graph = recording().graph(KEY)
    subject = Subject(graph, memory=found)
    for name in ("pools", "pointed_at", "stale_pointers", "host_memory", "unordered_writes"):
        result = run_analysis(name, subject)
        assert "failed with" not in result.absent_reason, result.absent_reason
        assert "gave no result" not in result.absent_reason, result.absent_reason
    rows = rows_of(found, subject)
    address_map(found, rows)
    use_map(rows, len(graph))
    lifetime_map(found, len(graph))
    for position in range(len(graph)):
        node_section(subject, position)
    whole = Recording(
        Metadata(),
        list(recording().graphs.values()),
        processes=[Process(pid=1)],
        evidence={"memory": {KEY: found}},
    )
    result = run_analysis("memory_steps", whole)
    assert "failed with" not in result.absent_reason, result.absent_reason
