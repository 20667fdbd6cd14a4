"""Graphs that torch captures, read while they are captured and afterwards."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
import torch

from capture.driver.cuda_bindings import CudaDriver
from capture.extract import Extraction, extract


def captured(
    gpu: CudaDriver, work: Callable[[], Any], *, keep_graph: bool = False
) -> tuple[Extraction, Any]:
    """Capture a function; return its graph as read before the capture ended, and torch's."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph(keep_graph=True) if keep_graph else torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        work()
        info = gpu.capture_info(stream.cuda_stream)
        assert info.status == 1
        assert info.last_nodes == gpu.nodes(info.graph)[-1:]
        found = extract(gpu, info.graph)
    return found, graph


def mlp() -> tuple[Any, Any]:
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 32)
    ).cuda()
    return model, torch.randn(16, 64, device="cuda")


def test_read_during_capture_equals_read_afterwards(gpu: CudaDriver) -> None:
    model, x = mlp()

    def step() -> None:
        model.zero_grad(set_to_none=True)
        model(x).square().mean().backward()

    found, graph = captured(gpu, step, keep_graph=True)
    afterwards = extract(gpu, graph.raw_cuda_graph())
    assert found.warnings == []
    assert len(found.graph) > 8
    assert found.graph == afterwards.graph


def words(buffer: bytes) -> set[int]:
    return {value for (value,) in struct.iter_unpack("<Q", buffer[: len(buffer) // 8 * 8])}


def test_arguments_hold_the_data_pointers(gpu: CudaDriver) -> None:
    model, x = mlp()
    outputs: list[Any] = []

    def forward() -> None:
        with torch.no_grad():
            outputs[:] = [model(x)]

    found, _ = captured(gpu, forward)
    kernels = [
        payload
        for type_, payload in zip(found.graph.topology.types, found.graph.payloads, strict=True)
        if type_ == "kernel"
    ]
    assert all(payload.arguments for payload in kernels)
    held = set().union(*(words(payload.arguments) for payload in kernels))
    assert x.data_ptr() in held
    assert outputs[0].data_ptr() in held
    for layer in (model[0], model[2]):
        assert layer.weight.data_ptr() in held


def test_reading_changes_neither_graph_nor_result(gpu: CudaDriver) -> None:
    x = torch.ones(256, device="cuda")
    total = torch.zeros(256, device="cuda")

    def work() -> None:
        total.add_(x).mul_(2.0)

    found, graph = captured(gpu, work)
    total.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert len(found.graph) == 2
    assert total.tolist() == [2.0] * 256


def test_a_capture_in_global_mode_survives_reading(gpu: CudaDriver) -> None:
    x = torch.ones(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="global"):
        x.add_(1.0)
        stream = torch.cuda.current_stream().cuda_stream
        extract(gpu, gpu.capture_info(stream).graph)
        x.add_(1.0)
        assert len(extract(gpu, gpu.capture_info(stream).graph).graph) == 2
    graph.replay()
    torch.cuda.synchronize()
    assert x.tolist() == [3.0] * 8


def test_kernels_tell_occupancy_and_resources(gpu: CudaDriver) -> None:
    x = torch.ones(1 << 16, device="cuda")
    found, _ = captured(gpu, lambda: x.mul_(1.0))
    (payload,) = found.graph.payloads
    assert payload.kernel.registers > 0
    assert payload.kernel.max_threads_per_block >= payload.block[0]
    assert payload.max_blocks_per_multiprocessor > 0
    assert payload.kernel.parameters


def test_a_failed_capture_is_readable_until_it_ends(gpu: CudaDriver) -> None:
    x = torch.ones(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    handle = 0
    found = None
    with pytest.raises(RuntimeError), torch.cuda.graph(graph):  # noqa: PT012 - ends on exit
        handle = gpu.capture_info(torch.cuda.current_stream().cuda_stream).graph
        x.add_(1.0)
        try:
            x.sum().item()
        except RuntimeError:
            found = extract(gpu, handle)
            raise
    assert found is not None
    assert len(found.graph) >= 1
    assert found.warnings == []
