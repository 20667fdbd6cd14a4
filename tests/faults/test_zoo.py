"""The zoo of faults: complete and well-formed, and judged as it has to be."""

from __future__ import annotations

import ast
import difflib
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from capture.analysis import Severity, analyses
from capture.model import Place
from tests.faults.judge import ORDER, problems, too_much
from tests.faults.said import Heard, Named, Said, listen
from tests.faults.scripts import HEALTHY, HERE, Expected, Pair, pairs
from tests.helpers import synthetic_memory

ZOO = pairs()
AT_LEAST = 24
ON_REQUEST = {"guilty_node"}
"""What needs more than a recording with memory: this one reads what `cglens locate` found."""
MOST_CHANGED = 8
LONGEST = 60

EACH = pytest.mark.parametrize("pair", ZOO, ids=lambda pair: pair.name)


def body(text: str) -> list[str]:
    """Return the lines of a script below its docstring, without marks."""
    first = ast.parse(text).body[0].end_lineno
    assert first is not None
    return [line.partition("  # <- ")[0] for line in text.splitlines()[first:]]


def test_every_analysis_that_looks_for_faults_has_a_script() -> None:
    known = {name for name, entry in analyses().items() if entry.finding} - ON_REQUEST
    assert known <= {pair.expected.finding for pair in ZOO}
    assert len(ZOO) >= AT_LEAST


def test_every_twin_has_a_faulty_script() -> None:
    assert {path.stem for path in HEALTHY.glob("*.py")} == {pair.name for pair in ZOO}


@EACH
def test_a_script_says_what_has_to_be_found(pair: Pair) -> None:
    expected = pair.expected
    entry = analyses().get(expected.finding)
    assert entry is not None, expected.finding
    assert entry.finding
    assert expected.severity in ORDER
    assert expected.severity != Severity.INFO
    assert expected.graph in ("any", "each") or expected.graph.isdecimal()
    assert ast.get_docstring(ast.parse(pair.faulty.read_text(encoding="utf-8")))


@EACH
def test_a_twin_differs_in_few_lines(pair: Pair) -> None:
    faulty = body(pair.faulty.read_text(encoding="utf-8"))
    healthy_text = pair.healthy.read_text(encoding="utf-8")
    healthy = body(healthy_text)
    assert "# <-" not in healthy_text
    assert len(faulty) == len(healthy) <= LONGEST
    changed = [line for line in difflib.ndiff(faulty, healthy) if line[0] in "+-"]
    assert 0 < len(changed) <= MOST_CHANGED, changed


NODE = Named(path="3", type="kernel", label="softmax", lines=[12])
OTHER = Named(path="4", type="memcpy", label="memcpy", lines=[])
SAID = Said(
    analysis="freed_later",
    severity="warning",
    confidence="certain",
    graph=0,
    nodes=[NODE],
    text="Linear: weight | made.py:7 <module>",
)
EXPECTED = Expected(
    "freed_later", "warning", texts=("Linear: weight",), node_lines=(12,), told_lines=(7,)
)


def judged(said: Said = SAID, graphs: int = 1, **fields: Any) -> list[str]:
    expected = msgspec.structs.asdict(said) | {"nodes": said.nodes}
    changed = {name: fields.pop(name) for name in list(fields) if name in expected}
    said = msgspec.structs.replace(said, **changed)
    wanted = Expected(**{**EXPECTED.__dict__, **fields})
    return problems(Heard(graphs=graphs, findings=[said], absent={}), wanted, "made.py")


def test_what_had_to_be_said_passes() -> None:
    assert judged() == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"analysis": "stale_pointers"}, "says nothing"),
        ({"severity": "notice"}, "severity notice"),
        ({"graph": 1}, "nothing is said of graphs [0]"),
        ({"graphs": 2, "graph": 0}, ""),
        ({"nodes": []}, "no node of line 12"),
        ({"nodes": [NODE, OTHER]}, "node 4 (memcpy) is named"),
        ({"nodes": [NODE, OTHER], "others": True}, ""),
        ({"nodes": [NODE, OTHER], "node_types": ("memcpy",)}, ""),
        ({"node_types": ("memset",)}, "no memset is named"),
        ({"text": "weight | made.py:71 f"}, "'Linear: weight' is not said"),
        ({"text": "Linear: weight | made.py:71 f"}, "line 7 is not told"),
    ],
)
def test_each_thing_that_is_missing_is_a_problem(change: dict[str, Any], problem: str) -> None:
    found = judged(**change)
    if problem:
        assert [text for text in found if problem in text], found
    else:
        assert found == []


def test_each_graph_has_to_be_named() -> None:
    wanted = Expected("freed_later", "warning", graph="each")
    assert problems(Heard(graphs=2, findings=[SAID], absent={}), wanted, "made.py")


@pytest.mark.parametrize("severity", ["notice", "warning"])
def test_a_twin_must_not_hear_anything(severity: str) -> None:
    said = msgspec.structs.replace(SAID, analysis="empty_graph", severity=severity)
    assert too_much(Heard(graphs=1, findings=[said], absent={}))
    assert too_much(Heard(graphs=1, findings=[], absent={})) == []


def test_all_that_is_said_of_a_recording_is_heard() -> None:
    found = listen(synthetic_memory.recording(), Path("faulty/train.py"))
    (stale,) = found.of("stale_pointers")
    assert (stale.graph, stale.severity, stale.confidence) == (0, "notice", "likely")
    assert [(node.path, node.type, node.lines) for node in stale.nodes] == [("3", "kernel", [])]
    assert "train.py:12 make" in stale.text
    assert "0x7f" not in stale.text


def test_of_graphs_of_other_scripts_nothing_is_heard() -> None:
    recording = synthetic_memory.recording()
    for info in recording.graphs.values():
        info.place = Place(file="/x/faulty/other.py", line=3, function="<module>")
    assert listen(recording, Path("/x/faulty/train.py")).findings == []
    assert listen(recording, Path("/x/faulty/other.py")).findings


def test_scripts_that_share_a_process_are_main_modules_of_their_own(tmp_path: Path) -> None:
    first, second, third = (tmp_path / f"{name}.py" for name in ("first", "second", "third"))
    first.write_text("import sys\nvalue = 1\nassert sys.modules[__name__].value == 1\n")
    second.write_text("raise RuntimeError('mine')\n")
    third.write_text("assert 'value' not in globals()\nprint(__name__, __file__)\n")
    command = [sys.executable, str(HERE / "several.py"), str(first), str(second), str(third)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "second.py" in done.stderr
    assert "RuntimeError: mine" in done.stderr
    assert done.stdout.split() == ["__main__", str(third)]
    assert subprocess.run(command[:3], check=False).returncode == 0
