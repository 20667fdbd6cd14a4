"""What lies at the address of an empty workspace is neither read nor written by the launch."""

from __future__ import annotations

import struct
from typing import Any

import pytest

import capture
from capture.memory.words import words
from capture.nodes.kernel import KernelPayload

torch = pytest.importorskip("torch")
driver = pytest.importorskip("cuda.bindings.driver")
SHAPES = ((2, 128, 256, 32), (2, 256, 256, 16), (2, 128, 128, 32), (32, 128, 128, 16))
"""Images, channels in and out, side."""
MOST_BYTES = 1 << 16
STRANGE = 0xFF


def empty_workspaces(graph: capture.Graph) -> set[int]:
    """Return what stands thrice where a workspace would, and is taken for no address."""
    found = set()
    taken = {(word.node, word.offset_bytes) for word in words(graph)}
    for position, payload in enumerate(graph.payloads):
        if not isinstance(payload, KernelPayload) or payload.kernel is None:
            continue
        if "xmma" not in payload.kernel.name or not payload.arguments:
            continue
        for begin in (328, 376):
            sums, _, counters, more = struct.unpack_from("<4Q", payload.arguments, begin)
            if sums == counters == more and 1 << 32 < sums < 1 << 47:
                assert (str(position), begin) not in taken
                found.add(sums)
    return found


def test_bytes_at_an_empty_workspace_stay_and_change_nothing() -> None:
    tried = 0
    for images, channels, more, side in SHAPES:
        x = torch.randn(images, channels, side, side).cuda().half()
        weight = torch.randn(more, channels, 3, 3).cuda().half()

        def step(x: Any = x, weight: Any = weight) -> Any:
            return torch.nn.functional.conv2d(x, weight, padding=1)

        for _ in range(2):
            step()
        torch.cuda.synchronize()
        made = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(made):
            result = step()
        graph = capture.from_graph(made)
        made.replay()
        expected = result.clone()
        torch.cuda.synchronize()
        output = range(result.data_ptr(), result.data_ptr() + result.nbytes)
        for address in empty_workspaces(graph):
            size = min(MOST_BYTES, _end_of_segment(address) - address)
            if size <= 0 or address in output or output.start in range(address, address + size):
                continue  # it is no memory of torch's, or the result lies there
            driver.cuMemsetD8(address, STRANGE, size)
            made.replay()
            torch.cuda.synchronize()
            held = bytearray(size)
            driver.cuMemcpyDtoH(held, address, size)
            assert bytes(held) == bytes([STRANGE]) * size
            assert torch.equal(result, expected)
            tried += 1
    assert tried


def _end_of_segment(address: int) -> int:
    for segment in torch.cuda.memory_snapshot():
        end: int = segment["address"] + segment["total_size"]
        if segment["address"] <= address < end:
            return end
    return 0
