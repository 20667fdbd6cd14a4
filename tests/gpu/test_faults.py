"""Every script of the zoo of faults, recorded with memory: what is said of it and of its twin.

Each test writes its part of ``tests/faults/report.json``. With ``GPU_REPORT=PATH`` the report is
also copied beside that file, as ``faults.json``. Every script has a process of its own: what one of
them frees another would be given, and that is what half of the findings are about.
"""

from __future__ import annotations

import importlib.util
import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.faults.judge import problems, too_much
from tests.faults.said import Heard, listen
from tests.faults.scripts import REPORT, Pair, pairs
from tests.gpu.recorded import ROOT, Recorded
from tests.gpu.zoo_report import ZooReport

WRITTEN = ZooReport(REPORT, "faults.json")
NAMES = [pair.name for pair in pairs()]


def heard_of(script: Path, folder: Path) -> tuple[Heard, dict[str, Any]]:
    """Record a script; return what is said of it, and its part of the report."""
    begin = time.monotonic()
    ran = Recorded(script, folder)
    took = round(1000 * (time.monotonic() - begin))
    assert ran.done.returncode == 0, ran.done.stderr[-3000:]
    assert ran.recording is not None
    heard = listen(ran.recording, script.name)
    part = json.loads(json.dumps(msgspec.to_builtins(heard)).replace(str(ROOT), "."))
    warnings = [
        *ran.recording.metadata.warnings,
        *(text for info in ran.recording.graphs.values() for text in info.warnings),
    ]
    return heard, {"recorded_ms": took, "warnings": warnings, **part}


def write(pair: Pair, side: str, part: dict[str, Any]) -> None:
    WRITTEN.write(pair.name, NAMES, lambda entry: dict(sorted({**entry, side: part}.items())))


@pytest.fixture(params=pairs(), ids=lambda pair: pair.name)
def pair(request: pytest.FixtureRequest) -> Pair:
    found: Pair = request.param
    if found.needs and importlib.util.find_spec(found.needs) is None:
        pytest.skip(f"needs {found.needs}")
    return found


def test_the_fault_is_named_at_the_right_node(pair: Pair, tmp_path: Path) -> None:
    heard, part = heard_of(pair.faulty, tmp_path)
    write(pair, "faulty", part)
    missing = problems(heard, pair.expected, pair.faulty.name)
    assert not missing, (missing, heard.of(pair.expected.finding))


def test_nothing_is_said_of_the_healthy_twin(pair: Pair, tmp_path: Path) -> None:
    heard, part = heard_of(pair.healthy, tmp_path)
    write(pair, "healthy", part)
    assert too_much(heard, pair.expected) == []
