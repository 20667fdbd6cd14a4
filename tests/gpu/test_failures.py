"""Every script of the zoo, recorded as a user records it: kind, line, and nothing changed.

Each test writes its entry of ``tests/failures/report.json``: what the driver and torch said, and
what was made of it. With ``GPU_REPORT=PATH`` the report is also copied beside that file, as
``failures.json``. How a script ends without recording is in the report too; where it was seen with
the same torch and driver it is not run again, unless ``ZOO_PLAIN=1``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capture
from capture.failures import kind_of
from capture.model import GraphInfo, Recording
from tests.failures.scripts import HERE, Script, silent, zoo
from tests.gpu.conftest import environment
from tests.gpu.zoo_report import ZooReport

torch = pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
REPORT = ZooReport(HERE / "report.json", "failures.json")
# What differs from run to run: addresses, sizes and processes.
VARIES = re.compile(r"0x[0-9a-f]+|[0-9.]+ [GM]iB|[Pp]rocess \d+")
MAX_FRAMES = 12


class Ran:
    """A script that was recorded."""

    def __init__(self, script: Script, folder: Path) -> None:
        path = folder / "out.cgl"
        recorder = [sys.executable, "-m", "graphviz_app", "record", "-o", str(path)]
        self.done = _run([*recorder, str(script.path)], folder)
        self.recording: Recording | None = capture.read(path) if path.exists() else None

    def failures(self) -> list[GraphInfo]:
        if self.recording is None:
            return []
        infos = [*self.recording.failed.values(), *self.recording.graphs.values()]
        return [info for info in infos if info.failure is not None]


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    # Each run compiles and tunes anew: a warm cache would not fail.
    caches = {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
    }
    for cache in caches.values():
        shutil.rmtree(cache, ignore_errors=True)
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **caches},
        timeout=240,
        check=False,
    )


def outcome(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return how a script ended: its exit code, as a shell has it, and its last error."""
    code = done.returncode
    return {"exit_code": 128 - code if code < 0 else code, "error": last_error(done.stderr)}


def last_error(text: str) -> str:
    """Return the last line of standard error that names an exception."""
    lines = [line for line in text.splitlines() if not line.startswith((" ", "cglens:"))]
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Failed)\b", line)]
    return VARIES.sub("", errors[-1] if errors else "").partition(" GPU 0 has")[0]


def plain(script: Script, folder: Path) -> dict[str, Any]:
    """Return how a script ends without recording."""
    document = REPORT.read()
    known = document["scripts"].get(script.name, {}).get("unrecorded")
    now = environment()
    same = all(document.get(name) == now.get(name) for name in ("display_driver", "gpus"))
    torchs = (document.get("versions", {}).get("torch"), now["versions"]["torch"])
    if known and same and torchs[0] == torchs[1] and os.environ.get("ZOO_PLAIN") != "1":
        return dict(known)
    return outcome(_run([sys.executable, str(script.path)], folder))


def entry_of(script: Script, ran: Ran, unrecorded: dict[str, Any]) -> dict[str, Any]:
    """Return what the report holds of one script."""
    entry: dict[str, Any] = {
        "expected": {"kind": script.kind, "line": script.line},
        "recorded": outcome(ran.done),
        "unrecorded": unrecorded,
    }
    for info in ran.failures()[:1]:
        failure = info.failure
        assert failure is not None
        entry |= {
            "message": failure.message.partition("\n")[0],
            "first_error": failure.first_error,
            "kind": failure.kind,
            "line": None if failure.place is None else failure.place.line,
            "confidence": failure.confidence,
            "because": failure.because,
            "alternatives": failure.alternatives,
            "found_by": failure.found_by,
            "call": failure.call,
            "operator": failure.operator,
            "thread": failure.thread,
            "unjoined": failure.unjoined,
            "nodes": info.node_count if failure.nodes_read else None,
            "facts": _shortened(failure.facts),
        }
    text = json.dumps(entry).replace(str(ROOT), ".").replace(sys.prefix, "PREFIX")
    return dict(json.loads(text))


def _shortened(facts: Any) -> Any:
    """Return facts without what longer stacks and torch's C++ frames add."""
    if isinstance(facts, dict):
        return {name: _short(name, value) for name, value in facts.items()}
    if isinstance(facts, (list, tuple)):
        return [_shortened(item) for item in facts]
    return facts


def _short(name: str, value: Any) -> Any:
    if name == "message":
        return str(value).partition("\nC++ CapturedTraceback")[0][:600]
    if name == "frames":
        frames = list(value)
        outer = [frame for frame in frames[MAX_FRAMES:] if frame.get("user", True)]
        return [*frames[:MAX_FRAMES], *outer[:4]]
    return _shortened(value)


@pytest.fixture
def record(tmp_path: Path) -> Callable[[Script], Ran]:
    """Return a function that records a script, where there are enough GPUs."""

    def run(script: Script) -> Ran:
        if script.gpus > torch.cuda.device_count():
            pytest.skip(f"needs {script.gpus} GPUs")
        return Ran(script, tmp_path)

    return run


@pytest.mark.parametrize("script", zoo(), ids=lambda script: script.name)
def test_kind_line_and_advice_with_the_users_own_error(
    script: Script, record: Callable[[Script], Ran], tmp_path: Path
) -> None:
    ran = record(script)
    unrecorded = plain(script, tmp_path)
    entry = entry_of(script, ran, unrecorded)
    REPORT.write({script.name: entry}, [known.name for known in zoo()])

    assert outcome(ran.done) == unrecorded
    found = ran.failures()
    assert found, ran.done.stderr[-2000:]
    failure = found[0].failure
    assert failure is not None
    assert failure.place is not None
    said = (failure.kind, failure.place.file, failure.place.line)
    assert said == (script.kind, str(script.path), script.line), (failure.because, failure.facts)

    lines = [line for line in ran.done.stderr.splitlines() if line.startswith("cglens:")]
    text = "\n".join(lines)
    kind = kind_of(script.kind)
    assert kind.title in text
    assert f"{script.path.name}:{script.line}" in text
    assert kind.advice[0] in text


@pytest.mark.parametrize("script", silent(), ids=lambda script: script.name)
def test_silent_omissions_are_said(script: Script, record: Callable[[Script], Ran]) -> None:
    ran = record(script)
    assert ran.done.returncode == 0, ran.done.stderr
    assert ran.recording is not None
    (info,) = [info for info in ran.recording.graphs.values() if info.how == "observed"]
    (left,) = info.left_out
    assert left.place is not None
    assert (left.operator, left.place.line) == (script.left_out, script.line)
    closing = f"not in the graph: {script.left_out} at {script.path}:{script.line}"
    assert closing in ran.done.stderr
