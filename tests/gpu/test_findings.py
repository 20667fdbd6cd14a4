"""Findings that only a recorder of real captures can make: each fault, and its healthy twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from capture.analysis import analyses
from capture.analysis.found import Finding, findings_in, walk
from capture.noticed import FIELD, LATER, noticed_in
from tests.gpu.test_memory import Recorded

torch = pytest.importorskip("torch")

HEAD = """
    import ctypes, random, torch
    from cuda.bindings import runtime

    x = torch.randn(4096, device="cuda")
    y = torch.empty_like(x)
    host = torch.ones(4096, pin_memory=True)
    side = torch.cuda.Stream()
    PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    kept = []

    def handle():
        return torch.cuda.current_stream().cuda_stream

    def call(function):
        # cuda.bindings would put a function of its own in between.
        launch = ctypes.CDLL("libcuda.so.1").cuLaunchHostFunc
        assert launch(ctypes.c_void_p(handle()), function, None) == 0

    def capture(function, *args, **options):
        graph = torch.cuda.CUDAGraph(**options)
        with torch.cuda.graph(graph):
            function(*args)
        kept.append(graph)
        return graph

    torch.nn.functional.dropout(x, 0.5)
    y.copy_(host, non_blocking=True)
    torch.mul(x, 2, out=y).add_(1)
    torch.cuda.synchronize()
"""


def record(folder: Path, text: str) -> tuple[Recorded, dict[str, list[Finding]]]:
    """Record a script and return its findings by the name of their analysis."""
    recorded = Recorded(folder, HEAD + text)
    found: dict[str, list[Finding]] = {}
    for key, results in walk(recorded.recording):
        for name, result in results.items():
            rows = findings_in(analyses()[name], result, key)
            if rows:
                found[name] = found.get(name, []) + rows
    return recorded, found


SCRIPTS: dict[str, tuple[str, str, str, str]] = {
    "baked_scalars": (
        """
    def step(number):
        torch.mul(x, number, out=y).add_(1)
    for number in (0.1234567, 0.7654321):
        capture(step, NUMBER).replay()
    """,
        "number",
        "0.1234567",
        "likely",
    ),
    "random_state": (
        """
    def step():
        y.copy_(torch.nn.functional.dropout(x, 0.5)).add_(NUMBER)
    random.seed(1)
    capture(step).replay()
    """,
        "random.random()",
        "0.5",
        "likely",
    ),
    "record_stream": (
        """
    def step():
        z = x * 2
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.add(z, 1, out=y)
        NUMBER
        torch.cuda.current_stream().wait_stream(side)
    capture(step).replay()
    """,
        "z.record_stream(side)",
        "z",
        "certain",
    ),
    "memory_nodes": (
        """
    def step():
        torch.mul(x, 2, out=y)
        error, pointer = runtime.cudaMallocAsync(4096, handle())
        assert int(error) == 0, error
        runtime.cudaMemsetAsync(pointer, 0, 4096, handle())
        NUMBER
    capture(step).replay()
    """,
        "y.add_(1)",
        "runtime.cudaFreeAsync(pointer, handle())",
        "certain",
    ),
    "host_functions": (
        """
    called = []
    def step():
        function = PROTOTYPE(called.append)
        NUMBER
        torch.mul(x, 2, out=y)
        call(function)
    capture(step)
    """,
        "y.add_(1)",
        "kept.append(function)",
        "likely",
    ),
    "host_memory": (
        """
    def step():
        y.copy_(host, non_blocking=True)
        y.add_(1)
    graph = capture(step)
    graph.replay()
    torch.cuda.synchronize()
    NUMBER
    graph.replay()
    """,
        "host = None",
        "host.fill_(2)",
        "certain",
    ),
    "one_node_graphs": (
        """
    def step():
        torch.mul(x, 2, out=y)
        NUMBER
    capture(step).replay()
    """,
        "pass",
        "y.add_(1)",
        "certain",
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_fault_is_found_and_its_healthy_twin_left_alone(name: str, tmp_path: Path) -> None:
    text, faulty, healthy, confidence = SCRIPTS[name]
    for folder, part in (("faulty", faulty), ("healthy", healthy)):
        (tmp_path / folder).mkdir()
        recorded, found = record(
            tmp_path / folder, text.replace("NUMBER", part) + "\n    torch.cuda.synchronize()\n"
        )
        rows = [(row.node, row.confidence) for row in found.get(name, [])]
        told: Any = [
            info.extra.get(field)
            for info in recorded.recording.graphs.values()
            for field in (FIELD, LATER)
        ]
        if part is healthy:
            assert not found, (found, told)
        else:
            assert [sure for _, sure in rows] == [confidence], (found, told)
            assert set(found) == {name}, (found, told)


def test_an_executable_taken_by_hand(tmp_path: Path) -> None:
    text = """
    def step():
        y.copy_(torch.nn.functional.dropout(x, 0.5))
    graph = capture(step, keep_graph=True)
    graph.instantiate()
    executable = runtime.cudaGraphExec_t(graph.raw_cuda_graph_exec())
    outputs = []
    for _ in range(2):
        assert int(runtime.cudaGraphLaunch(executable, handle())[0]) == 0
        torch.cuda.synchronize()
        outputs.append(y.clone())
    assert torch.equal(*outputs)
    """
    recorded, found = record(tmp_path, text)
    assert [row.node for row in found["random_state"]] == ["0"]
    (info,) = recorded.recording.graphs.values()
    noticed = noticed_in(info)
    assert noticed is not None
    assert noticed.executable_taken is not None
    assert noticed.executable_taken.file.endswith("work.py")


def test_a_constant_seed_of_a_triton_kernel(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    text = """
    import triton
    import triton.language as tl

    @triton.jit
    def drop(source, target, seed, count, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < count
        kept_ones = tl.rand(seed, offsets) > 0.5
        values = tl.load(source + offsets, mask=mask)
        tl.store(target + offsets, tl.where(kept_ones, values, 0), mask=mask)

    @triton.jit
    def advanced(source, target, seed, count, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < count
        kept_ones = tl.rand(tl.load(seed), offsets) > 0.5
        values = tl.load(source + offsets, mask=mask)
        tl.store(target + offsets, tl.where(kept_ones, values, 0), mask=mask)

    seeds = torch.full((1,), 77, device="cuda", dtype=torch.int32)
    def step():
        torch.mul(x, 2, out=y)
        advanced[(4,)](x, y, seeds, 4096, BLOCK=1024)
        drop[(4,)](x, y, 4321, 4096, BLOCK=1024)
    step()
    torch.cuda.synchronize()
    capture(step).replay()
    torch.cuda.synchronize()
    """
    _, found = record(tmp_path, text)
    assert [(row.node, row.confidence) for row in found["random_state"]] == [("2", "likely")]
