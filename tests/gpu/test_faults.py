"""Every script of the zoo of faults, recorded with memory: what is said of it and of its twin.

Each test writes its part of ``tests/faults/report.json``. With ``GPU_REPORT=PATH`` the report is
also copied beside that file, as ``faults.json``. Starting a process on a GPU takes longer than all
scripts together, so several share one, faulty ones with faulty ones; those that cannot say so.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from capture.model import Recording
from tests.faults.judge import problems, too_much
from tests.faults.said import Heard, listen
from tests.faults.scripts import HERE, REPORT, Pair, pairs
from tests.gpu.recorded import ROOT, Recorded
from tests.gpu.zoo_report import ZooReport

WRITTEN = ZooReport(REPORT, "faults.json")
SEVERAL = HERE / "several.py"
TOGETHER = 8
"""Scripts that share a process."""
SIDES = ("faulty", "healthy")


@dataclass(frozen=True)
class Batch:
    """Scripts of one side that are recorded together."""

    side: str
    pairs: tuple[Pair, ...]

    def __str__(self) -> str:
        return f"{self.side}-{self.pairs[0].name}-{len(self.pairs)}"

    def script(self, pair: Pair) -> Path:
        return pair.faulty if self.side == "faulty" else pair.healthy


def batches() -> list[Batch]:
    """Return the zoo in batches, the longest first."""
    found = []
    social = [pair for pair in pairs() if not pair.alone]
    # Those whose findings concern the same are in different batches.
    social.sort(key=lambda pair: pair.expected.finding)
    count = -(-len(social) // TOGETHER)
    groups = [tuple(social[at::count]) for at in range(count)]
    groups += [(pair,) for pair in pairs() if pair.alone]
    for group in groups:
        found += [Batch(side, group) for side in SIDES]
    return found


def part_of(heard: Heard, recording: Recording) -> dict[str, Any]:
    """Return what the report holds of one script."""
    part: dict[str, Any] = msgspec.to_builtins(heard)
    text = json.dumps({**part, "warnings": recording.metadata.warnings})
    return dict(json.loads(text.replace(str(ROOT), ".")))


@pytest.mark.parametrize("batch", batches(), ids=str)
def test_faults_are_named_and_nothing_is_said_of_twins(batch: Batch, tmp_path: Path) -> None:
    chosen = [
        pair
        for pair in batch.pairs
        if not pair.needs or importlib.util.find_spec(pair.needs) is not None
    ]
    if not chosen:
        pytest.skip(f"needs {batch.pairs[0].needs}")
    scripts = [batch.script(pair) for pair in chosen]
    if len(scripts) == 1:
        ran = Recorded(scripts[0], tmp_path)
    else:
        ran = Recorded(SEVERAL, tmp_path, args=[str(script) for script in scripts])
    assert ran.recording is not None, ran.done.stderr[-3000:]
    wrong: dict[str, list[str]] = {}
    parts = {}
    for pair, script in zip(chosen, scripts, strict=True):
        heard = listen(ran.recording, script)
        parts[pair.name] = {batch.side: part_of(heard, ran.recording)}
        wrong[pair.name] = (
            problems(heard, pair.expected, script.name)
            if batch.side == "faulty"
            else too_much(heard)
        )
    WRITTEN.write(parts, [pair.name for pair in pairs()])
    assert ran.done.returncode == 0, ran.done.stderr[-3000:]
    assert {name: found for name, found in wrong.items() if found} == {}
