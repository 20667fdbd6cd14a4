"""Dry runs of scripts that others wrote: the failure zoo, the ten workloads, the examples."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from capture.recorder import readiness
from capture.recorder.readiness import Readiness
from tests.ready.test_zoo import FAILURES, ROOT, dry_runs, expected
from tests.workloads import NAMES

UNKNOWABLE = {"lazy_load", "out_of_memory", "own_error", "allocation", "not_ended"}
"""Kinds of failure that show only where kernels and memory are real, or that are the script's."""
NOT_THROUGH_TORCH = {"blocking_stream", "merged_captures", "unreported"}
"""Scripts that call the driver themselves."""
ONLY_HARDWARE = {"no_such_device", "thread_allocation"}
EXAMPLES = ("batch_sizes", "compiled", "fork_join", "train_step", "transformer_inference")


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Readiness]:
    return dry_runs(FAILURES, tmp_path_factory.mktemp("failures"))


@pytest.mark.parametrize("script", FAILURES, ids=lambda path: path.stem)
def test_the_failure_zoo_is_foreseen(script: Path, failures: dict[str, Readiness]) -> None:
    kind, lines = expected(script, "<- fails here")
    found = {(trouble.kind, trouble.stack[0].line) for trouble in failures[script.stem].found}
    if kind in UNKNOWABLE or script.stem in NOT_THROUGH_TORCH | ONLY_HARDWARE:
        assert kind not in {name for name, _ in found}
    else:
        assert (kind, lines[0]) in found


def run(*words: str) -> Readiness:
    """Run one dry run as the command does."""
    result = ROOT / words[0]
    subprocess.run(
        [sys.executable, "capture/recorder/ready_runner.py", str(result), "300", *words[1:]],
        cwd=ROOT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "TORCHDYNAMO_DISABLE": "1"},
        capture_output=True,
        timeout=400,
        check=False,
    )
    read = readiness.read(result)
    assert read is not None
    return read


def assert_healthy(result: Readiness) -> None:
    assert result.failure is None
    assert result.found == []
    assert result.exit_code == readiness.FOUND_NOTHING
    assert sum(region.operators for region in result.regions) > 5


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_found_in_the_ten_workloads(name: str, tmp_path: Path) -> None:
    result = str(tmp_path / "result.json")
    assert_healthy(run(result, "module", "tests.workloads", name, "--small", "--replays", "2"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_nothing_is_found_in_the_examples(name: str, tmp_path: Path) -> None:
    assert_healthy(run(str(tmp_path / "result.json"), "script", f"examples/{name}.py"))
