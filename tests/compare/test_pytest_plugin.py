"""The fixture: what it lets pass, what it fails and what it skips."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from capture.policy import parse_policy
from tests.compare.graphs import kernels
from tests.compare.test_gate import recording

if TYPE_CHECKING:
    from capture.pytest_plugin import GraphCheck

pytest_plugins = ["capture.pytest_plugin"]
ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = ROOT / "graphviz_app/samples/train_step.cgl"


def test_what_holds_passes_and_is_returned(cuda_graph_check: GraphCheck) -> None:
    assert len(cuda_graph_check(SAMPLE, baseline=SAMPLE).graphs) == 1


def test_a_broken_rule_fails_with_its_words(cuda_graph_check: GraphCheck, tmp_path: Path) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text("[nodes]\nmost = 1\n", encoding="utf-8")
    with pytest.raises(pytest.fail.Exception, match=r"broken: nodes\.most"):
        cuda_graph_check(str(SAMPLE), policy=policy)


def test_what_cannot_be_told_fails_unless_allowed(cuda_graph_check: GraphCheck) -> None:
    one = recording(kernels("ab"))
    with pytest.raises(pytest.fail.Exception, match="could not tell"):
        cuda_graph_check(one, baseline=one)
    cuda_graph_check(one, baseline=one, allow_unknown=True)


def test_a_function_without_a_gpu_is_skipped_and_never_passes(
    cuda_graph_check: GraphCheck, monkeypatch: pytest.MonkeyPatch
) -> None:
    from capture import recorder
    from capture.errors import NoGpuError

    def no_gpu(*args: object, **kwargs: object) -> None:
        raise NoGpuError("cuInit", 100, "CUDA_ERROR_NO_DEVICE")

    monkeypatch.setattr(recorder, "capture", no_gpu)
    monkeypatch.delenv("REQUIRE_GPU", raising=False)
    with pytest.raises(pytest.skip.Exception, match="NO_DEVICE"):
        cuda_graph_check(lambda: None, policy=parse_policy(""))
    monkeypatch.setenv("REQUIRE_GPU", "1")
    with pytest.raises(pytest.fail.Exception, match="REQUIRE_GPU"):
        cuda_graph_check(lambda: None)
