"""Synthetic benchmarks for tests: made up here, never measured on a device."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from capture.benchmarks import Benchmark, Conditions, Eager, NodeCosts, Removal
from capture.model import Evidence, Graph, Recording

from . import synthetic

REFUSAL = "synthetic: the graph has a host node; leave it out to replay it"


def samples(around_ns: int, spread_ns: int, count: int = 50, seed: int = 1) -> list[int]:
    """Return made-up samples with one outlier in twenty."""
    made = random.Random(seed)
    return [
        around_ns + made.randrange(spread_ns + 1) + (6 * spread_ns if place % 20 == 7 else 0)
        for place in range(count)
    ]


def conditions(steady: bool = True, count: int = 40) -> Conditions:
    """Return made-up clocks, power and temperature."""
    return Conditions(
        at_ns=[place * 50_000_000 for place in range(count)],
        sm_clock_mhz=[1980 if steady else 1980 - 15 * place for place in range(count)],
        memory_clock_mhz=[2619] * count,
        power_mw=[120_000 + 4_000 * place for place in range(count)],
        temperature_c=[36 + place // 8 for place in range(count)],
        throttle_reasons=[] if steady else ["sw_power_cap"],
        max_sm_clock_mhz=1980,
        processes=[] if steady else [{"pid": 77, "name": "python", "memory_bytes": 3 * 1024**3}],
    )


def removal(asked: str, nodes: Sequence[int], gain_ns: int, replay_ns: int = 400_000) -> Removal:
    """Return made-up replays with and without some nodes."""
    return Removal(
        asked=asked,
        nodes=[str(node) for node in nodes],
        with_ns=samples(replay_ns, 1_500, 40, 3),
        without_ns=samples(replay_ns - gain_ns, 1_500, 40, 4),
    )


def benchmark(key: str, scale: float = 1.0, eager: bool = True, steady: bool = True) -> Benchmark:
    """Return a made-up benchmark with a bit of everything."""

    def scaled(value: int) -> int:
        return round(value * scale)

    return Benchmark(
        graph=key,
        notes=["synthetic: these numbers were never measured"],
        capture_ns=samples(scaled(9_000_000), 300_000, 8, 5),
        instantiate_ns=samples(scaled(700_000), 40_000, 10, 6),
        upload_ns=samples(scaled(90_000), 9_000, 10, 7),
        first_launch_ns=samples(scaled(60_000), 8_000, 10, 8),
        launch_cpu_ns=samples(8_000, 900, 50, 9),
        replay_ns=samples(scaled(400_000), 1_800, 50, 10),
        cold_replay_ns=samples(scaled(460_000), 4_000, 50, 11),
        executable_bytes=2_200_000,
        saved_bytes=64 * 1024**2,
        eager=Eager(
            call_ns=samples(scaled(1_900_000), 20_000, 50, 12),
            cpu_ns=samples(scaled(1_700_000), 20_000, 50, 13),
            gpu_ns=samples(scaled(1_880_000), 20_000, 50, 14),
            busy_ns=scaled(420_000),
            launches=132,
            share={"python": 0.22, "dispatch": 0.41, "runtime": 0.25, "driver": 0.12},
            profiled_cpu_ns=scaled(2_600_000),
            calls={"cudaLaunchKernel": [132, 430_000]},
        )
        if eager
        else Eager(reason="synthetic: the script captured this graph itself"),
        conditions=conditions(steady),
    )


def with_everything() -> Recording:
    """Return a timed graph of layers with removals and node costs, and a refused one."""
    made = synthetic.recording(
        {
            "layers": synthetic.layers(24),
            "refused": synthetic.layers(2),
            "bare": synthetic.chain(9),
        },
        timed=["layers"],
        title="synthetic benchmark",
    )
    layers, refused, _ = made.graphs
    full = benchmark(layers)
    full.nodes = NodeCosts(
        node=["1", "2", "3"],
        isolated_ns=[3_100, 4_200, -1],
        marginal_ns=[2_600, 300, -1],
        repetitions=20,
        spread_ns=900,
        reasons={"3": "synthetic: it writes what another node reads"},
    )
    full.removals = [
        removal("type:memcpy", [6, 14, 22], 30_000),
        removal("node:1", [1], 400),
        Removal(asked="type:kernel", reason="synthetic: nothing would be left"),
    ]
    full.removals[0].left = {"22": "synthetic: memcpy between hosts"}
    return filled(made, {layers: full, refused: Benchmark(graph=refused, refused=REFUSAL)})


def ladder(count: int = 9) -> Recording:
    """Return graphs of growing batch size, each with a made-up benchmark."""
    graphs: dict[str, Graph] = {f"step {i}": synthetic.layers(1 + i) for i in range(count)}
    made = synthetic.recording(graphs, failed=False, title="synthetic ladder")
    return filled(
        made,
        {key: benchmark(key, 2.0 ** (place % 9) / 8) for place, key in enumerate(made.graphs)},
    )


def filled(recording: Recording, benchmarks: dict[str, Benchmark]) -> Recording:
    """Return a synthetic recording with benchmarks."""
    for key, info in recording.graphs.items():
        info.evidence["benchmarks"] = (
            Evidence(present=True, how="synthetic")
            if key in benchmarks
            else Evidence(present=False, reason="synthetic: nobody asked for it")
        )
    loaded: Callable[[str], Graph] = recording.graph
    return Recording(
        recording.metadata,
        list(recording.graphs.values()),
        list(recording.failed.values()),
        executables=recording.executables,
        processes=recording.processes,
        timeline=recording.timeline,
        timings={id_: found for id_ in recording.timed if (found := recording.timings(id_))},
        benchmarks=benchmarks,
        loaded={key: loaded(key) for key in [*recording.graphs, *recording.failed]},
        load=loaded,
    )
