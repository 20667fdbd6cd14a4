"""What nodes write, measured on a real GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capture.measure_request import MeasureRequest
from tests.gpu.test_own_replays import Measured, with_checksum

pytest.importorskip("torch")

SCRIPT = """
    import json, torch
    torch.manual_seed(0)
    x = torch.randn(64, 128, device="cuda")
    w = torch.randn(128, 256, device="cuda")
    count = torch.zeros(1, device="cuda")
    def step():
        h = torch.relu(x @ w)
        count.add_(1)
        zeros = torch.zeros(1000, device="cuda", dtype=torch.int16)
        temporary["zeros"] = [zeros.data_ptr(), zeros.nbytes]
        return h.sum(0) + zeros.sum()
    temporary = {}
    with torch.cuda.stream(torch.cuda.Stream()):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = step()
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    places = dict(x=x, w=w, count=count, y=y)
    watched.extend(places.values())
    first.append(checksum())
    with open("PLACES", "w") as stream:
        known = {name: [t.data_ptr(), t.nbytes] for name, t in places.items()}
        json.dump(known | temporary, stream)
"""


def test_ranges_are_those_of_tensors(tmp_path: Path) -> None:
    path = tmp_path / "places.json"
    text = with_checksum(tmp_path, SCRIPT.replace("PLACES", str(path)))
    found = Measured(tmp_path, text, MeasureRequest(bench=False, writes=True))
    assert found.code == 0
    assert found.after == "True"  # every byte that was watched is as the script left it
    (key,) = found.recording.graphs
    writes = found.recording.writes(key)
    assert writes is not None
    assert writes.refused == ""
    count = found.recording.graphs[key].node_count
    assert writes.ran == [str(node) for node in range(count)]
    places = json.loads(path.read_text(encoding="utf-8"))

    def writers(name: str) -> list[str]:
        start, size = places[name]
        return [
            node
            for node, at, length in zip(writes.node, writes.address, writes.size_bytes, strict=True)
            if at < start + size and start < at + length
        ]

    assert writers("x") == writers("w") == []
    (adds,) = writers("count")
    last = writers("y")[-1]  # nodes before it had temporaries there
    # What fills with zeros is seen although zeros may have been there.
    fills = next(
        node
        for node, at, length in zip(writes.node, writes.address, writes.size_bytes, strict=True)
        if [at, length] == places["zeros"]
    )
    assert len({adds, fills, last}) == 3
    assert int(fills) < int(last)
    # Counters of a reduction may be 0 before and after; nothing else is silent.
    assert len(set(writes.ran) - set(writes.node)) <= 1
