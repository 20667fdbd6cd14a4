"""What a dry run finds in small scripts, each with one known fault, or with none."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from capture.failures import kinds
from capture.recorder import readiness
from capture.recorder.readiness import Readiness

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BAD = sorted((HERE / "bad").glob("*.py"))
GOOD = sorted((HERE / "good").glob("*.py"))
FAILURES = sorted((ROOT / "tests" / "failures" / "zoo").glob("*.py"))


def dry_runs(runs: Mapping[str, Sequence[str]], folder: Path) -> dict[str, Readiness]:
    """Run workloads dry, given as the words after `ready`, in forks of one process."""
    done = subprocess.run(
        [sys.executable, str(HERE / "forked.py"), str(folder)],
        cwd=ROOT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "TORCHDYNAMO_DISABLE": "1"},
        input="".join(json.dumps([name, *words]) + "\n" for name, words in runs.items()),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    found = {}
    for name in runs:
        result = readiness.read(folder / f"{name}.json")
        assert result is not None, f"{name} left no result: {done.stderr[-2000:]}"
        found[name] = result
    return found


def as_scripts(paths: Iterable[Path]) -> dict[str, Sequence[str]]:
    return {path.stem: ("script", str(path.relative_to(ROOT))) for path in paths}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Readiness]:
    return dry_runs(as_scripts([*BAD, *GOOD]), tmp_path_factory.mktemp("ready"))


def expected(script: Path, mark: str = "<- found here") -> tuple[str, list[int]]:
    """Return the kind and the lines that a script of the zoo says."""
    text = script.read_text(encoding="utf-8")
    kind = re.search(r"^kind: (\w+)$", text, re.M)
    assert kind is not None
    return kind.group(1), [
        number for number, line in enumerate(text.splitlines(), start=1) if mark in line
    ]


def test_the_zoo_is_large_enough() -> None:
    assert len(BAD) >= 12
    assert len(GOOD) >= 12


@pytest.mark.parametrize("script", BAD, ids=lambda path: path.stem)
def test_each_fault_is_found_with_its_line(script: Path, results: dict[str, Readiness]) -> None:
    kind, wanted = expected(script)
    result = results[script.stem]
    assert result.failure is None
    assert result.exit_code == readiness.FOUND_SOMETHING
    found = [(trouble.kind, trouble.stack[0].line) for trouble in result.found]
    assert sorted(set(found)) == [(kind, line) for line in wanted]
    for trouble in result.found:
        assert trouble.kind in kinds()
        assert Path(trouble.stack[0].file).name == script.name
        assert trouble.why
        assert trouble.instead


@pytest.mark.parametrize("script", GOOD, ids=lambda path: path.stem)
def test_healthy_scripts_run_to_their_end_and_nothing_is_found(
    script: Path, results: dict[str, Readiness]
) -> None:
    result = results[script.stem]
    assert result.failure is None
    assert [(trouble.kind, trouble.call, trouble.stack[:1]) for trouble in result.found] == []
    assert result.exit_code == readiness.FOUND_NOTHING
    assert sum(region.operators for region in result.regions) > 0


def test_a_guess_is_said_to_be_one(results: dict[str, Readiness]) -> None:
    (loop,) = results["until_converged"].found
    assert loop.guessed
    assert loop.times > 1
    assert results["until_converged"].guesses >= loop.times


def test_what_happens_in_the_backward_pass_names_the_autograd_node(
    results: dict[str, Readiness],
) -> None:
    (trouble,) = results["backward_of_own_function"].found
    assert trouble.backward == "WatchedBackward"


def test_a_compiled_function_is_a_region_of_the_compilers(results: dict[str, Readiness]) -> None:
    result = results["compiled_with_item"]
    assert [region.compiled for region in result.regions] == [True]
    assert any("torch.compile" in sentence for sentence in result.limits)
