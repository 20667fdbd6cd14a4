"""What products and convolutions are said to read does not change when their nodes run."""

from __future__ import annotations

from pathlib import Path

import pytest

from capture.measure_request import MeasureRequest
from capture.memory.operands import operands_read
from capture.nodes.kernel import KernelPayload
from tests.gpu.test_own_replays import Measured, with_checksum

pytest.importorskip("torch")

SCRIPT = """
    import torch
    from torch import nn
    torch.manual_seed(0)
    half = nn.Sequential(nn.Linear(256, 512), nn.Linear(512, 64, bias=False)).cuda().half()
    full = nn.Sequential(nn.Linear(256, 512), nn.Linear(512, 64, bias=False)).cuda()
    images = nn.Sequential(*(nn.Conv2d(64, 64, 3, padding=1) for _ in range(2))).cuda()
    deep = nn.Conv2d(64, 128, 3, padding=1).cuda().half()
    x = torch.randn(128, 256, device="cuda")
    image = torch.randn(4, 64, 32, 32, device="cuda")
    batches = torch.randn(8, 64, 64, device="cuda", dtype=torch.bfloat16)
    def train():
        loss = half(x.half()).float().sum() + full(x).sum() + images(image).sum()
        loss = loss + torch.bmm(batches, batches).float().sum()
        loss = loss + deep(image.half()).float().sum()
        loss.backward()
        return loss
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(2):
            train()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = train()
    for _ in range(2):
        graph.replay()
    torch.cuda.synchronize()
    watched.append(y)
    first.append(checksum())
"""


def test_operands_stay_and_results_change(tmp_path: Path) -> None:
    text = with_checksum(tmp_path, SCRIPT)
    found = Measured(tmp_path, text, MeasureRequest(bench=False, writes=True))
    assert found.code == 0
    (key,) = found.recording.graphs
    graph, writes = found.recording.graph(key), found.recording.writes(key)
    assert writes is not None
    assert writes.refused == ""
    changed = writes.of_node()
    families: set[str] = set()
    for position, payload in enumerate(graph.payloads):
        if not isinstance(payload, KernelPayload) or payload.kernel is None:
            continue
        data = payload.arguments or b""
        words = {
            int.from_bytes(data[at : at + 8], "little")
            for at in operands_read(payload.kernel.name, len(data))
        }
        ranges = changed.get(str(position), ())
        assert not any(at <= word < at + size for at, size in ranges for word in words)
        if words and ranges:
            families.add(payload.kernel.name.split("_")[0])
    assert len(families) >= 2, families
