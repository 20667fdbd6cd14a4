"""Made-up memory for tests: no allocator ever held it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from capture.memory.torch_snapshot import Tables, add_segments, add_sums
from capture.memory_map import Counters, Events, Mark, Memory, Names, Ranges, Snapshot
from capture.model import Evidence, Graph, GraphInfo, Kernel, Metadata, Process, Recording
from capture.nodes.kernel import KernelPayload
from capture.nodes.mem_alloc import MemAllocPayload
from capture.nodes.mem_free import MemFreePayload
from capture.nodes.memcpy import MemcpyEnd, MemcpyPayload
from capture.nodes.memset import MemsetPayload
from tests.analysis.graphs import graph_of

BASE = 0x7F0000000000
POOL = 0x7F1000000000
PINNED = 0x7F8000000000
PAGEABLE = 0x560000000000
OWN = (1, 0)
SCALE = "_Z5scalePfyPKf"
"""``scale(float*, unsigned long long, float const*)``."""
KEY = "step.py:step#0"
FRAMES = [
    {"filename": "/x/site-packages/torch/nn/linear.py", "line": 9, "name": "forward"},
    {"filename": "train.py", "line": 12, "name": "make"},
]


def segment(
    address: int, blocks: Sequence[tuple[int, str]], pool: tuple[int, int] = (0, 0)
) -> dict[str, Any]:
    return {
        "device": 0,
        "address": address,
        "total_size": sum(size for size, _ in blocks),
        "segment_pool_id": pool,
        "segment_type": "small",
        "blocks": [
            {"size": size, "requested_size": size - 4, "state": state, "frames": FRAMES}
            for size, state in blocks
        ],
    }


def memory(key: str = "k") -> Memory:
    """Return memory with allocated and free blocks in both pools, and two ranges outside."""
    before = [segment(BASE, [(512, "active_allocated"), (512, "inactive")])]
    after = [*before, segment(POOL, [(1024, "active_allocated"), (3072, "inactive")], OWN)]
    found = Memory(
        graph=key,
        pool=OWN,
        device=0,
        how=["synthetic"],
        history="on",
        backend="native",
        marks=[Mark(name="before capture"), Mark(name="after capture", cost_ns=5)],
        counters=[
            Counters(mark=0, device=0, reserved_bytes=1024, allocated_bytes=512),
            Counters(mark=1, device=0, reserved_bytes=5120, allocated_bytes=1536),
        ],
        names=Names(address=[BASE], size_bytes=[500], name=["Net: weight"]),
        ranges=Ranges(address=[PINNED], size_bytes=[4096], kind=["host"]),
        asked_ranges=True,
    )
    found.events = Events(
        action=[0, 0, 1],
        device=[0, 0, 0],
        address=[POOL, POOL + 1024, POOL + 1024],
        size_bytes=[1000, 3000, 3000],
        at_us=[5, 6, 9],
        stack=[-1, -1, -1],
        nodes_before=[0, 1, 2],
    )
    tables = Tables(found)
    add_sums(tables, before, 0)
    add_sums(tables, after, 1)
    add_segments(tables, after)
    return found


def kernel(name: str, *words: int, size: int | None = None) -> KernelPayload:
    data = struct.pack(f"<{len(words)}Q", *words)
    parameters = [(8 * i, 8) for i in range(len(words))] if size is None else [(0, size)]
    return KernelPayload(
        kernel=Kernel(name=name, parameters=parameters),
        arguments=data,
        grid=(1, 1, 1),
        block=(1, 1, 1),
    )


def copy(source: int, destination: int, size: int, kinds: str = "DD") -> MemcpyPayload:
    names = {"D": "device", "H": "host"}
    return MemcpyPayload(
        kind=f"{kinds[0]}to{kinds[1]}",
        source=MemcpyEnd(memory_type=names[kinds[0]], address=source),
        destination=MemcpyEnd(memory_type=names[kinds[1]], address=destination),
        width_bytes=size,
        height=1,
        depth=1,
    )


def fill(address: int, size: int) -> MemsetPayload:
    return MemsetPayload(address=address, value=0, element_bytes=1, width=size, height=1)


def graph(payloads: Sequence[Any], edges: Sequence[tuple[int, int]] = ()) -> Graph:
    types: dict[Any, str] = {
        KernelPayload: "kernel",
        MemcpyPayload: "memcpy",
        MemsetPayload: "memset",
        MemAllocPayload: "mem_alloc",
        MemFreePayload: "mem_free",
    }
    return graph_of(len(payloads), edges, [types[type(item)] for item in payloads], payloads)


def recording(snapshot: bool = True) -> Recording:
    nodes = graph(
        [
            kernel(SCALE, BASE + 4, 0, POOL),
            kernel(SCALE, BASE + 8, 0, POOL + 2000),
            copy(PINNED, POOL, 64, "HD"),
            kernel("plain", BASE + 600),
        ],
        [(0, 1), (1, 2), (2, 3)],
    )
    info = GraphInfo(
        key=KEY,
        name="step",
        node_count=4,
        process=0,
        evidence={"memory": Evidence(present=True, how="synthetic")},
    )
    evidence: dict[str, dict[str, Any]] = {"memory": {KEY: memory(KEY)}}
    if snapshot:
        made = memory()
        evidence["snapshots"] = {
            "0": Snapshot(
                process="0",
                pools=made.pools,
                segments=made.segments,
                blocks=made.blocks,
                frames=made.frames,
                stacks=made.stacks,
            )
        }
    return Recording(
        Metadata(),
        [info],
        processes=[Process(pid=1)],
        loaded={KEY: nodes},
        evidence=evidence,
    )
