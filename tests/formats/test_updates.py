"""The driver's answers about updates, stored and read."""

from __future__ import annotations

from pathlib import Path

import pytest

import capture.formats as formats
from capture.codec import decode_evidence, encode_evidence
from capture.errors import FormatError
from capture.evidence import UPDATES
from capture.updates import Answer, Updates, name_graphs, updates_told
from tests.helpers.recordings import chain, recording_of


def answers(key: str) -> Updates:
    found = Updates(graph=key, flags=9, reasons={"g9": "the time for asking was up"})
    found.put(Answer("g1", "SUCCESS", "SUCCESS", "", "", 40_000, 3_000), 5)
    found.put(Answer("g2", "SUCCESS", "TOPOLOGY_CHANGED", "3/0/1", "2", 41_000, 2_000), 6)
    return found


@pytest.mark.parametrize("extension", ["cgl", "json"])
def test_answers_survive(extension: str, tmp_path: Path) -> None:
    recording = recording_of(chain(3), chain(5))
    (key, _) = recording.graphs
    recording._evidence["updates"][key] = answers(key)
    path = tmp_path / f"a.{extension}"
    formats.write(recording, path)
    found = formats.read(path).updates(key)
    assert found == answers(key)
    assert found.answer("g2") == answers(key).rows()[1]
    assert found.answer("g9") is None


def test_columns_of_other_lengths_are_damage() -> None:
    broken = answers("g")
    broken.result.pop()
    with pytest.raises(FormatError, match="result"):
        decode_evidence(UPDATES, encode_evidence(UPDATES, broken), "updates")


def test_graphs_are_named_as_the_recording_names_them() -> None:
    found = answers("g")
    name_graphs(found, {5: "g1@2", 6: "g2"})
    assert found.after == ["g1@2", "g2"]
    assert found.serials == []


def test_what_is_told_of_them() -> None:
    assert updates_told(answers("g")) == (
        "cuGraphExecUpdate on 2 executables made of a clone of the graph",
        "",
    )
    assert updates_told(Updates(refused="its memory was freed")) == ("", "its memory was freed")
