"""Every script of the zoo, recorded as a user records it: kind, line, and nothing changed.

Writes ``tests/failures/report.json``: what the driver and torch said, and what was made of it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import capture
from capture.model import GraphInfo, Recording
from tests.failures.scripts import HERE, Script, silent, zoo
from tests.gpu.conftest import environment

torch = pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
REPORT = HERE / "report.json"
ENVIRONMENT = {"torch", "versions", "cuda_driver", "display_driver", "gpus", "python", "commit"}
ADDRESS = re.compile(r"0x[0-9a-f]+|[0-9.]+ [GM]iB|[Pp]rocess \d+|frame #.*")


class Ran:
    """A script run plainly and recorded."""

    def __init__(self, script: Script, folder: Path) -> None:
        self.script = script
        self.path = folder / f"{script.name}.cgl"
        caches = {
            "TORCHINDUCTOR_CACHE_DIR": str(folder / f"{script.name}-inductor"),
            "TRITON_CACHE_DIR": str(folder / f"{script.name}-triton"),
        }
        command = [sys.executable, str(script.path)]
        self.plain = _run(command, {**caches})
        recorder = [sys.executable, "-m", "graphviz_app", "record", "-o", str(self.path)]
        self.recorded = _run([*recorder, str(script.path)], caches)
        self.recording: Recording | None = capture.read(self.path) if self.path.exists() else None

    def failures(self) -> list[GraphInfo]:
        if self.recording is None:
            return []
        infos = [*self.recording.failed.values(), *self.recording.graphs.values()]
        return [info for info in infos if info.failure is not None]


def _run(command: list[str], extra: dict[str, str]) -> subprocess.CompletedProcess[str]:
    # Each run compiles and tunes anew: a warm cache would not fail.
    for folder in extra.values():
        subprocess.run(["rm", "-rf", folder], check=True)
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **extra},
        timeout=240,
        check=False,
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """Run all scripts, several at a time."""
    folder = tmp_path_factory.mktemp("zoo")
    scripts = [s for s in [*zoo(), *silent()] if s.gpus <= torch.cuda.device_count()]
    with ThreadPoolExecutor(min(10, os.cpu_count() or 1)) as pool:
        found = {one.script.name: one for one in pool.map(lambda s: Ran(s, folder), scripts)}
    document = {
        **{name: value for name, value in environment().items() if name in ENVIRONMENT},
        "scripts": {name: _entry(one) for name, one in found.items() if one.script.kind},
    }
    REPORT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return found


def _entry(one: Ran) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "expected": {"kind": one.script.kind, "line": one.script.line},
        "exit_code": one.recorded.returncode,
        "exit_code_unrecorded": one.plain.returncode,
    }
    for info in one.failures()[:1]:
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
            "nodes": info.node_count if failure.nodes_read else None,
            "facts": _shortened(failure.facts),
        }
    return json.loads(json.dumps(entry).replace(str(ROOT), ".").replace(sys.prefix, "PREFIX"))


def _shortened(facts: Any) -> Any:
    """Return facts without what a longer stack or torch's C++ frames add."""
    if isinstance(facts, dict):
        return {
            key: value.partition("\nC++ CapturedTraceback")[0][:600]
            if key == "message" and isinstance(value, str)
            else _shortened(value)[:12]
            if key == "frames"
            else _shortened(value)
            for key, value in facts.items()
        }
    if isinstance(facts, (list, tuple)):
        return [_shortened(item) for item in facts]
    return facts


def _script(script: Script, ran: dict[str, Ran]) -> Ran:
    if script.name not in ran:
        pytest.skip(f"needs {script.gpus} GPUs")
    return ran[script.name]


def last_line(text: str) -> str:
    """Return the last line of a traceback, without what differs from run to run."""
    lines = [line for line in text.splitlines() if line and not line.startswith((" ", "cglens:"))]
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Exit|Failed)\b", line)]
    # What torch says of memory differs from run to run.
    return ADDRESS.sub("", errors[-1] if errors else "").partition(" GPU 0 has")[0]


@pytest.mark.parametrize("script", zoo(), ids=lambda script: script.name)
def test_kind_and_line(script: Script, ran: dict[str, Ran]) -> None:
    one = _script(script, ran)
    found = one.failures()
    assert found, one.recorded.stderr[-2000:]
    failure = found[0].failure
    assert failure is not None
    assert failure.place is not None
    said = (failure.kind, failure.place.file, failure.place.line)
    assert said == (script.kind, str(script.path), script.line), (failure.because, failure.facts)


@pytest.mark.parametrize("script", zoo(), ids=lambda script: script.name)
def test_the_users_error_and_exit_code_are_unchanged(script: Script, ran: dict[str, Ran]) -> None:
    one = _script(script, ran)
    assert one.recorded.returncode % 256 == one.plain.returncode % 256 or (
        one.plain.returncode < 0 and one.recorded.returncode == 128 - one.plain.returncode
    )
    assert last_line(one.recorded.stderr) == last_line(one.plain.stderr)
    assert one.recorded.stdout == one.plain.stdout


@pytest.mark.parametrize("script", zoo(), ids=lambda script: script.name)
def test_the_closing_lines_say_kind_line_and_what_to_do(
    script: Script, ran: dict[str, Ran]
) -> None:
    from capture.failures import kind_of

    one = _script(script, ran)
    lines = [line for line in one.recorded.stderr.splitlines() if line.startswith("cglens:")]
    text = "\n".join(lines)
    kind = kind_of(script.kind)
    assert kind.title in text
    assert f"{script.path.name}:{script.line}" in text
    assert kind.advice[0].replace("`", "")[:40] in text.replace("`", "")


@pytest.mark.parametrize("script", silent(), ids=lambda script: script.name)
def test_silent_omissions_are_said(script: Script, ran: dict[str, Ran]) -> None:
    one = _script(script, ran)
    assert (one.recorded.returncode, one.plain.returncode) == (0, 0)
    assert one.recording is not None
    (info,) = [info for info in one.recording.graphs.values() if info.how == "observed"]
    (left,) = info.left_out
    assert left.place is not None
    assert (left.operator, left.place.line) == (script.left_out, script.line)
    closing = f"not in the graph: {script.left_out} at {script.path}:{script.line}"
    assert closing in one.recorded.stderr
