"""Dry runs of scripts that others wrote: the failure zoo, the ten workloads, the examples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from capture.recorder import readiness
from capture.recorder.readiness import Readiness
from tests.ready.test_zoo import FAILURES, ROOT, as_scripts, dry_runs, expected
from tests.workloads import NAMES

UNKNOWABLE = {"lazy_load", "out_of_memory", "own_error", "allocation", "not_ended"}
"""Kinds of failure that show only where kernels and memory are real, or that are the script's."""
NOT_THROUGH_TORCH = {"blocking_stream", "merged_captures", "unreported"}
"""Scripts that call the driver themselves."""
ONLY_HARDWARE = {"no_such_device", "thread_allocation"}
EXAMPLES = (
    "batch_sizes",
    "compiled",
    "fork_join",
    "stale_input",
    "train_step",
    "transformer_inference",
)


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Readiness]:
    return dry_runs(as_scripts(FAILURES), tmp_path_factory.mktemp("failures"))


@pytest.mark.parametrize("script", FAILURES, ids=lambda path: path.stem)
def test_the_failure_zoo_is_foreseen(script: Path, failures: dict[str, Readiness]) -> None:
    kind, lines = expected(script, "<- fails here")
    found = {(trouble.kind, trouble.stack[0].line) for trouble in failures[script.stem].found}
    if kind in UNKNOWABLE or script.stem in NOT_THROUGH_TORCH | ONLY_HARDWARE:
        assert kind not in {name for name, _ in found}
    else:
        assert (kind, lines[0]) in found


def shortened(folder: Path) -> dict[str, Sequence[str]]:
    """Write the examples with fewer rounds: a dry run sees nothing new in the later ones."""
    scripts = {}
    for name in EXAMPLES:
        text = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
        text, constants = re.subn(r"^(STEPS|REPLAYS|ROUNDS) = \d+$", r"\1 = 3", text, flags=re.M)
        assert constants == 1
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
        scripts[name] = ("script", str(folder / f"{name}.py"))
    return scripts


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Readiness]:
    folder = tmp_path_factory.mktemp("healthy")
    workloads = {
        name: ("module", "tests.workloads", name, "--small", "--replays", "2") for name in NAMES
    }
    return dry_runs({**workloads, **shortened(folder)}, folder)


@pytest.mark.parametrize("name", [*NAMES, *EXAMPLES])
def test_nothing_is_found_in_the_ten_workloads_and_the_examples(
    name: str, healthy: dict[str, Readiness]
) -> None:
    result = healthy[name]
    assert result.failure is None
    assert result.found == []
    assert result.exit_code == readiness.FOUND_NOTHING
    assert sum(region.operators for region in result.regions) > 5
