"""The ten named workloads build and run eagerly on the CPU; their graphs are tested on a GPU."""

from __future__ import annotations

import ast
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.workloads import NAMES, load

REPOSITORY = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((REPOSITORY / "examples").glob("*.py"))
SUPPORT_MODULES = {"__init__", "__main__", "protocol", "chains", "triton_kernels"}
EAGER_STEPS = 2


def eager_results(name: str) -> list[torch.Tensor]:
    workload = load(name).build(device="cpu", small=True)
    return [workload.eager().clone() for _ in range(EAGER_STEPS)]


def test_names_are_exactly_the_ten() -> None:
    assert sorted(NAMES) == sorted(
        {
            "llama_decode",
            "gpt_train",
            "convnet_train",
            "streams_forkjoin",
            "encoder_compiled",
            "partial_callables",
            "triton_fused",
            "unet_step",
            "moe_block",
            "batch_ladder",
        }
    )
    modules = {path.stem for path in (REPOSITORY / "tests" / "workloads").glob("*.py")}
    assert modules - SUPPORT_MODULES == set(NAMES)


def test_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"'gpt'.*gpt_train"):
        load("gpt")


@pytest.mark.parametrize("name", NAMES)
def test_module_and_workload_agree_on_the_name(name: str) -> None:
    module = load(name)
    workload = module.build(device="cpu", small=True)
    assert module.NAME == workload.name == name
    assert workload.description == module.DESCRIPTION
    assert len(workload.description) > 20


@pytest.mark.parametrize("name", NAMES)
def test_eager_path_is_finite_and_deterministic_on_the_cpu(name: str) -> None:
    first, second = eager_results(name), eager_results(name)
    for before, after in zip(first, second, strict=True):
        assert before.isfinite().all()
        assert torch.equal(before, after)
        assert before.abs().max() > 0


@pytest.mark.parametrize(
    "name", ["llama_decode", "gpt_train", "convnet_train", "encoder_compiled", "unet_step"]
)
def test_steps_that_change_state_give_another_result_next_time(name: str) -> None:
    first, second = eager_results(name)
    assert not torch.equal(first, second)


# A meta tensor has no values: whatever reads one on the host, as no captured step may, raises.
@pytest.mark.parametrize("name", sorted({*NAMES} - {"partial_callables", "streams_forkjoin"}))
def test_full_size_step_reads_no_value_on_the_host(name: str) -> None:
    workload = load(name).build(device="meta")
    workload.eager()
    assert workload.eager().is_meta


def test_partial_callables_reads_values_on_the_host_between_its_graphs() -> None:
    with pytest.raises(NotImplementedError, match="nonzero"):
        load("partial_callables").build(device="meta", small=True).eager()


def test_moe_block_equals_the_plain_sum_over_experts_when_nothing_is_dropped() -> None:
    from tests.workloads.moe_block import MixtureOfExperts

    torch.manual_seed(0)
    tokens, width, experts = 12, 8, 4
    block = MixtureOfExperts(width, experts, capacity=tokens)
    x = torch.randn(tokens, width)
    gate, chosen = block.router(x).softmax(-1).topk(2, dim=-1)
    gate = gate / gate.sum(-1, keepdim=True)
    expected = x.clone()
    for token in range(tokens):
        for weight, expert in zip(gate[token], chosen[token], strict=True):
            hidden = torch.nn.functional.silu(x[token] @ block.up[expert]) @ block.down[expert]
            expected[token] += weight * hidden
    torch.testing.assert_close(block(x), expected, rtol=1e-4, atol=1e-5)


def test_moe_block_drops_what_exceeds_the_capacity() -> None:
    from tests.workloads.moe_block import MixtureOfExperts

    torch.manual_seed(0)
    block = MixtureOfExperts(8, 4, capacity=1)
    x = torch.randn(1, 8).expand(6, 8)
    out = block(x)
    assert not torch.equal(out[0], x[0])
    torch.testing.assert_close(out[1:], x[1:])


def test_batch_ladder_has_the_35_sizes() -> None:
    from tests.workloads.batch_ladder import BATCH_SIZES

    assert len(BATCH_SIZES) == 35
    assert BATCH_SIZES[:5] == (1, 2, 4, 8, 16)
    assert BATCH_SIZES[-1] == 256


def test_graph_builders_refuse_impossible_sizes_before_touching_cuda() -> None:
    from tests.workloads import chains

    with pytest.raises(ValueError, match="-1 nodes"):
        chains.chain(-1)
    with pytest.raises(ValueError, match="width=0"):
        chains.fork_join(10, width=0)


def imported_packages(tree: ast.Module) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or ".")
    return {name.partition(".")[0] for name in names}


def test_seven_examples_are_in_the_table() -> None:
    table = (REPOSITORY / "examples" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[`(\w+\.py)`\]\(\1\)", table, flags=re.MULTILINE)
    assert sorted(listed) == [path.name for path in EXAMPLES]
    assert len(EXAMPLES) == 7


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_stands_alone(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstring = ast.get_docstring(tree)
    assert docstring is not None
    assert len(docstring.splitlines()) > 2
    assert imported_packages(tree) <= {*sys.stdlib_module_names, "torch", "numpy", "cuda"}
    assert ast.unparse(tree.body[-1]) == "if __name__ == '__main__':\n    main()"


INTERPRETED = """
import torch
from tests.workloads import load
kernels = load("triton_fused").build("cpu", small=True).eager()
import os
os.environ["TRITON_INTERPRET"] = "0"
reference = load("triton_fused").build("cpu", small=True).eager()
torch.testing.assert_close(kernels, reference, rtol=1e-4, atol=1e-5)
assert not torch.equal(kernels, torch.zeros_like(kernels))
print("agree")
"""


@pytest.mark.skipif(
    platform.system() != "Linux",
    reason="Triton has wheels for Linux only; there it is in the test extra and has to be present",
)
def test_triton_kernels_agree_with_torch_in_the_interpreter() -> None:
    # A process of its own: Triton reads the variable when a kernel is decorated.
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETED],
        cwd=REPOSITORY,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "agree"


@pytest.mark.skipif(torch.cuda.is_available(), reason="the message is about a missing GPU")
def test_script_says_that_it_needs_a_gpu() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.workloads", "moe_block"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "needs a GPU" in done.stderr
