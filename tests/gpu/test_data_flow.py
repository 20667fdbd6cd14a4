"""Data flow of a small graph on a real GPU: who wrote what is read, and what no data needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from capture.analysis import run_analysis
from capture.analysis.subject import Subject
from graphviz_app.subjects import subject_of

from .test_memory import Recorded

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

SCRIPT = """
    import torch, triton
    import triton.language as tl

    @triton.jit
    def double_kernel(in_ptr0, out_ptr0, count, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(in_ptr0 + at, mask=at < count)
        tl.store(out_ptr0 + at, 2 * x, mask=at < count)

    source, static = (torch.randn(4096, device="cuda") for _ in range(2))
    weights = [torch.randn(4096, device="cuda") for _ in range(2)]
    matrix = torch.randn(64, 64, device="cuda")

    def step():
        static.copy_(source)                                   # 0: memcpy
        one = static + weights[0]                              # 1
        other = weights[0] * weights[1]                        # 2: of static nothing
        total = one + other                                    # 3
        out = torch.empty_like(total)
        double_kernel[(4,)](total, out, 4096, BLOCK=1024)      # 4
        product = out.view(64, 64).t() @ matrix                # 5 and perhaps more
        return product.sum()                                   # last

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()
    graph.replay()
    torch.cuda.synchronize()
"""


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    folder: Path = tmp_path_factory.mktemp("flow")
    recording = Recorded(folder, SCRIPT, "stacks").recording
    (key,) = recording.graphs
    return subject_of(recording, key, recording.graph(key))


def test_each_node_reads_what_its_operator_was_given(subject: Subject) -> None:
    assert subject.graph.topology.types[:2] == ["memcpy", "kernel"]
    known = {(item.writer, item.reader) for item in subject.flows if item.how != "possible"}
    assert {(0, 1), (1, 3), (2, 3), (3, 4)} <= known
    assert not {(0, 2), (1, 2), (0, 3)} & {(item.writer, item.reader) for item in subject.flows}
    # The product reads what the Triton kernel wrote, and the sum the product.
    last = len(subject.graph) - 1
    readers = {item.reader for item in subject.flows if item.writer == 4}
    assert readers
    assert readers <= set(range(5, last))
    assert any(item.reader == last and item.writer >= 5 for item in subject.flows)


def test_parameters_of_the_triton_kernel_are_kept(subject: Subject) -> None:
    assert subject.origins is not None
    (kernel,) = subject.origins.compiled_kernels
    assert kernel.parameters == ("in_ptr0", "out_ptr0", "count")
    how = {item.how for item in subject.accesses_at(4)}
    assert how == {"named"}


def test_the_edge_that_no_data_needs(subject: Subject) -> None:
    result = run_analysis("edges_without_data", subject)
    assert ("1", "2") in {(row[0], row[2]) for row in result.rows}
    assert ("2", "3") not in {(row[0], row[2]) for row in result.rows}
    assert not run_analysis("unordered_writes", subject).rows
