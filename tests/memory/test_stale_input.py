"""The hunt that the README shows, in its real recording."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import capture
from graphviz_app import cli

ROOT = Path(__file__).parents[2]
STORED = ROOT / "graphviz_app" / "samples" / "stale_input.cgl"
HEADING = "## A stale pointer, from symptom to line"


def test_the_readme_shows_what_is_printed_of_the_stored_recording(
    capsys: pytest.CaptureFixture[str],
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition(HEADING)[2].partition("\n## ")[0]
    shown = section.partition("$ cglens info --findings stale_input.cgl\n")[2].partition("```")[0]
    assert cli.main(["info", "--findings", str(STORED)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith(" ".join(shown.split()))
    assert re.search(r"node 4 .*stale_input\.py:65 main.*\[certain\]", printed)


def test_the_lines_that_were_found_are_those_of_the_example() -> None:
    recording = capture.read(STORED)
    (key,) = recording.graphs
    origins = recording.origins(key)
    assert origins is not None
    (stored,) = (text for file, text in origins.sources.items() if "stale_input" in file)
    example = (ROOT / "examples" / "stale_input.py").read_text(encoding="utf-8")
    assert stored == example
    lines = example.splitlines()
    assert lines[64].strip() == "graph, request, answer = capture(model)"
    assert lines[74].strip() == "groups.append(torch.stack(answers))"
