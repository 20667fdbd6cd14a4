"""Synthetic recordings for tests of the dashboard: made up here, never measured on a device."""

from __future__ import annotations

import random
from collections.abc import Sequence

from capture.model import (
    Body,
    Event,
    Evidence,
    Executable,
    Failure,
    Gpu,
    Graph,
    GraphInfo,
    Kernel,
    Metadata,
    Place,
    Process,
    Recording,
    Topology,
)
from capture.nodes.conditional import ConditionalPayload
from capture.nodes.kernel import KernelPayload
from capture.nodes.mem_alloc import MemAllocPayload
from capture.nodes.mem_free import MemFreePayload
from capture.nodes.memcpy import MemcpyEnd, MemcpyPayload
from capture.nodes.memset import MemsetPayload
from capture.timings import Timings

MANGLED = (
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_9MeanOpsIfffLi4EEEjfLi4ELi4EEEEEvT1_",
    "nvjet_sm90_tst_128x64_64x8_2x1_v_bz_TNN",
    "_ZN5flash17flash_fwd_kernelI23Flash_fwd_kernel_traitsILi64ELi128EEEvv",
    "triton_poi_fused_add_native_layer_norm_3",
    "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIiEEvvEUlvE_EEviT1_",
)


def kernels(count: int = len(MANGLED)) -> list[Kernel]:
    """Return made-up device functions with real-looking names."""
    return [
        Kernel(
            name=MANGLED[i % len(MANGLED)] + ("" if i < len(MANGLED) else f"_{i}"),
            registers=32 + 8 * (i % 7),
            static_shared_bytes=1024 * (i % 3),
            local_bytes=0,
            constant_bytes=640,
            max_threads_per_block=1024,
            ptx_version=90,
            binary_version=90,
            parameters=[(0, 4), (8, 8), (16, 24)],
        )
        for i in range(count)
    ]


def kernel_payload(kernel: Kernel, i: int = 0) -> KernelPayload:
    """Return a made-up launch."""
    return KernelPayload(
        kernel=kernel,
        grid=(64 + i % 5, 2, 1),
        block=(256, 1, 1),
        dynamic_shared_bytes=48 * 1024 if i % 4 == 0 else 0,
        cooperative=False,
        priority=0,
        max_blocks_per_multiprocessor=4,
        arguments=bytes(range(40)),
    )


def copy_payload() -> MemcpyPayload:
    """Return a made-up copy to the device."""
    return MemcpyPayload(
        kind="HtoD",
        source=MemcpyEnd(memory_type="host", address=0x7F2A_0000_1000),
        destination=MemcpyEnd(memory_type="device", address=0x7F6B_4000_0000),
        width_bytes=98_714,
        height=1,
        depth=1,
    )


def chain(count: int, kinds: int = len(MANGLED)) -> Graph:
    """Return a chain of kernels."""
    functions = kernels(kinds)
    return Graph(
        topology=Topology(
            types=["kernel"] * count,
            source=list(range(count - 1)),
            target=list(range(1, count)),
        ),
        payloads=[kernel_payload(functions[i % kinds], i) for i in range(count)],
        name=f"synthetic chain of {count}",
    )


def layers(count: int, side: bool = True) -> Graph:
    """Return repeated layers: a copy stream, a fork of three, a join, allocations."""
    functions = kernels()
    types: list[str] = []
    payloads: list[object] = []
    edges: list[tuple[int, int]] = []

    def add(type_: str, payload: object, *before: int) -> int:
        types.append(type_)
        payloads.append(payload)
        edges.extend((b, len(types) - 1) for b in before)
        return len(types) - 1

    last = add("memset", MemsetPayload(address=0x7F00_0000, value=0, element_bytes=4, width=1024))
    copy = last
    for layer in range(count):
        norm = add("kernel", kernel_payload(functions[4], layer), last)
        parts = [add("kernel", kernel_payload(functions[2], layer + k), norm) for k in range(3)]
        attention = add("kernel", kernel_payload(functions[3], layer), *parts)
        if side:
            copy = add("memcpy", copy_payload(), copy)
            attention = add("kernel", kernel_payload(functions[0], layer), attention, copy)
        last = add("kernel", kernel_payload(functions[1], layer), attention)
    return Graph(
        topology=Topology(types=types, source=[s for s, _ in edges], target=[t for _, t in edges]),
        payloads=payloads,
        name=f"synthetic layers {count}",
    )


def with_bodies() -> Graph:
    """Return a graph with an if of two bodies, one of which holds a while, and odd node types."""
    functions = kernels()
    inner = chain(3)
    inner.name = "while body"
    then = Graph(
        topology=Topology(types=["kernel", "conditional"], source=[0], target=[1]),
        payloads=[kernel_payload(functions[0]), ConditionalPayload(kind="while", body_count=1)],
        bodies=[Body(node=1, index=0, role="while", graph=inner)],
        name="if body",
    )
    other = chain(2)
    return Graph(
        topology=Topology(
            types=["kernel", "conditional", "mem_alloc", "kernel", "mem_free", "type_17", "empty"],
            source=[0, 1, 2, 3, 3, 4, 5],
            target=[1, 3, 3, 4, 5, 6, 6],
            from_port=[1, 0, 0, 0, 0, 0, 0],
            to_port=[0] * 7,
            edge_type=[1, 0, 0, 0, 0, 0, 0],
        ),
        payloads=[
            kernel_payload(functions[2]),
            ConditionalPayload(kind="if", conditional_handle=0x11, body_count=2),
            MemAllocPayload(address=0x7F10_0000, size_bytes=4 * 1024**2, location_type="device"),
            kernel_payload(functions[0]),
            MemFreePayload(address=0x7F10_0000),
            {"mystery_bytes": 4096, "word": "kept"},
            None,
        ],
        bodies=[
            Body(node=1, index=0, role="if", graph=then),
            Body(node=1, index=1, role="else", graph=other),
        ],
        node_extra={5: {"field_9": 7}},
        name="synthetic bodies",
    )


def info_of(graph: Graph, key: str, name: str, label: str = "", ordinal: int = 0) -> GraphInfo:
    """Return what would be known about a graph, with made-up circumstances."""
    nodes, edges, bodies = 0, 0, 0
    counts: dict[str, int] = {}
    for _, part in graph.walk():
        nodes += len(part)
        edges += len(part.topology.source)
        bodies += len(part.bodies)
        for type_ in part.topology.types:
            counts[type_] = counts.get(type_, 0) + 1
    file, _, function = key.partition(":")
    return GraphInfo(
        key=key,
        name=name,
        label=label,
        ordinal=ordinal,
        how="observed",
        node_count=nodes,
        edge_count=edges,
        body_count=bodies,
        type_counts=counts,
        width=4,
        depth=nodes // 2 or None,
        topology=f"digest-{nodes}-{edges}",
        place=Place(file=file, line=40 + ordinal, function=function.partition("#")[0]),
        process=0,
        thread="MainThread",
        device=0,
        stream="0x55d0c0ffee00",
        capture_mode="global",
        pool=(1, 0),
        started_ns=1_000_000 + ordinal * 40_000_000,
        capture_duration_ns=12_400_000 + 77_777 * ordinal,
        read_duration_ns=3_100_000,
        evidence={
            "parameters": Evidence(present=True, how="read through the driver", cost_ns=2_100_000),
            "timings": Evidence(
                present=False, reason="not asked for; record with `cglens record --timings`"
            ),
        },
    )


def synthetic_timings(graph: Graph, key: str, executable: str, replays: int = 5) -> Timings:
    """Return made-up timings of a graph without bodies: never measured anywhere.

    Kernels take 2, 3, 4, ... microseconds in turn on stream 7, copies 20 on stream 13; each starts
    500 ns after the last of its predecessors and of its stream. The first memset is not timed.
    """
    before: dict[int, list[int]] = {}
    for source, target in zip(graph.topology.source, graph.topology.target, strict=True):
        before.setdefault(target, []).append(source)
    ends: dict[int, int] = {}
    free: dict[int, int] = {}
    made = Timings(executable=executable, graph=key)
    for position, type_ in enumerate(graph.topology.types):
        if type_ == "memset" and not made.missing:
            made.missing[str(position)] = "synthetic: its record has another id"
            ends[position] = 0
            continue
        stream = 13 if type_ == "memcpy" else 7
        duration = 20_000 if type_ == "memcpy" else 2_000 + 1_000 * (position % 7)
        ready = max([ends[at] for at in before.get(position, [])] + [free.get(stream, 0)])
        start = ready + 500 if ready else 0
        ends[position] = free[stream] = start + duration
        made.node.append(str(position))
        made.count.append(replays)
        made.minimum_ns.append(duration - 64)
        made.median_ns.append(duration)
        made.p95_ns.append(duration + 320)
        made.start_ns.append(start)
        made.gap_ns.append(500 if ready else 0)
        made.stream.append(stream)
        made.sample_start_ns.append(start)
        made.sample_duration_ns.append(duration)
    makespan = max(ends.values(), default=0)
    busy = sum(made.median_ns)
    made.makespan_ns = [makespan + 700 * i for i in range(replays)]
    made.busy_ns = [min(busy, makespan - 4_000)] * replays
    made.untraced_replay_ns = [makespan * 100 // 142] * 3
    made.traced_replay_ns = [makespan] * 3
    return made


def recording(
    graphs: dict[str, Graph],
    failed: bool = True,
    title: str = "synthetic run",
    timed: Sequence[str] = (),
) -> Recording:
    """Return a recording over made-up graphs, by name; keys are derived from the names.

    Those named in `timed` get made-up timings.
    """
    infos, loaded, executables, events = [], {}, [], []
    timings: dict[str, Timings] = {}
    random_ = random.Random(7)
    clock = 5_000_000
    for ordinal, (name, graph) in enumerate(graphs.items()):
        key = f"train.py:{name.replace(' ', '_')}#{ordinal}"
        label = f"batch_size={2 ** (ordinal % 9)}"
        info = info_of(graph, key, f"{name} {label}", label, ordinal)
        infos.append(info)
        loaded[key] = graph
        if name in timed:
            timings[str(ordinal)] = synthetic_timings(graph, key, str(ordinal))
            info.evidence["timings"] = Evidence(present=True, how="synthetic")
        replays = random_.randrange(10, 400)
        executables.append(
            Executable(
                id=f"{ordinal}",
                graph=key,
                instantiate_duration_ns=900_000,
                replays=replays,
                uploads=1,
                ended="alive at exit",
            )
        )
        duration = info.capture_duration_ns or 0
        events.append(Event(kind="capture", start_ns=clock, duration_ns=duration, graph=key))
        clock += duration + 300_000
        events.append(Event(kind="instantiate", start_ns=clock, duration_ns=900_000, graph=key))
        clock += 1_500_000
        for _ in range(3):
            span = replays * 20_000
            events.append(
                Event(
                    kind="replay",
                    start_ns=clock,
                    duration_ns=span,
                    count=replays // 3,
                    graph=key,
                    executable=str(ordinal),
                )
            )
            clock += span + 2_000_000
    broken = []
    if failed:
        graph = chain(5)
        info = info_of(graph, "train.py:bad_step#0", "bad_step")
        info.failure = Failure(
            error="cudaErrorStreamCaptureUnsupported",
            message="operation not permitted when stream is capturing",
            place=Place(file="train.py", line=88, function="bad_step"),
        )
        broken.append(info)
        loaded[info.key] = graph
        events.append(
            Event(kind="capture_failed", start_ns=clock, duration_ns=4_000_000, graph=info.key)
        )
    return Recording(
        Metadata(
            title=title,
            command=["python", "train.py", "--steps", "300", "--name", "made up"],
            started_unix_ns=1_790_000_000_000_000_000,
            duration_ns=clock + 40_000_000,
            exit_code=0,
            product_version="0.1.0",
            source="recorded",
            warnings=["synthetic: these numbers were never measured"],
        ),
        infos,
        broken,
        executables=executables,
        processes=[
            Process(
                pid=4242,
                argv=["python", "train.py"],
                ended="exit",
                versions={
                    "python": "3.12.1",
                    "torch": "2.11.0+cu130",
                    "driver": "580.82",
                    "cuda": "13.0",
                },
                gpus=[
                    Gpu(
                        index=0,
                        name="Synthetic GPU",
                        compute_capability=(9, 0),
                        multiprocessors=132,
                        memory_bytes=139 * 1024**3,
                        max_threads_per_multiprocessor=2048,
                    )
                ],
                costs_ns={"read_graphs": 12_000_000, "journal": 2_500_000},
            )
        ],
        loaded=dict(loaded),
        load=loaded.__getitem__,
        timeline=events,
        timings=timings,
    )


def typical() -> Recording:
    """Return a recording with a bit of everything."""
    return recording(
        {
            "layers": layers(24),
            "bodies": with_bodies(),
            "chain": chain(120),
            "small": layers(2),
            "empty": Graph(topology=Topology(types=[]), payloads=[], name="empty"),
        },
        timed=["layers"],
    )
