"""Made-up benchmarks and origins for tests: never measured, never recorded.

The stored forms in ``tests/data/formats`` hold what these functions return: do not change it.
"""

from __future__ import annotations

from capture.benchmarks import Benchmark, Conditions, Eager, NodeCosts, Removal
from capture.model import Evidence, Executable, Recording
from capture.origins import Compiled, Frame, Module, Operator, Origins, TensorLike
from capture.timings import Timings


def synthetic_benchmark(key: str, nodes: int = 3) -> Benchmark:
    """Return a benchmark with something in every field."""
    paths = [str(node) for node in range(nodes)]
    return Benchmark(
        graph=key,
        notes=["synthetic: two blocks could not be saved"],
        capture_ns=[9_000_000],
        instantiate_ns=[800_000, 820_000],
        upload_ns=[60_000],
        first_launch_ns=[110_000],
        launch_cpu_ns=[7_000, 7_200, 7_100],
        replay_ns=[20_000, 20_300, 20_100],
        cold_replay_ns=[27_000, 27_500],
        executable_bytes=65_536,
        eager=Eager(
            call_ns=[90_000, 91_000],
            cpu_ns=[80_000, 81_000],
            gpu_ns=[30_000, 30_500],
            busy_ns=19_000,
            launches=nodes,
            share={"python": 0.4, "dispatch": 0.35, "runtime": 0.15, "driver": 0.1},
            profiled_cpu_ns=120_000,
            calls={"cudaLaunchKernel": [nodes, 14_000]},
        ),
        nodes=NodeCosts(
            node=paths,
            isolated_ns=[2_000 + 10 * node for node in range(nodes)],
            marginal_ns=[*([1_900] * (nodes - 1)), -1] if nodes else [],
            repetitions=20,
            spread_ns=300,
            reasons={paths[-1]: "synthetic: it cannot be disabled"} if nodes else {},
        ),
        removals=[
            Removal(
                asked="node:1",
                nodes=["1"],
                left={"2": "synthetic: it cannot be disabled"},
                with_ns=[20_000, 20_200, 20_100],
                without_ns=[18_000, 18_100, 18_200],
            )
        ],
        conditions=Conditions(
            at_ns=[0, 5_000_000],
            sm_clock_mhz=[1980, 1755],
            memory_clock_mhz=[2619, 2619],
            power_mw=[250_000, 300_000],
            temperature_c=[40, -1],
            throttle_reasons=["sw_power_cap"],
            max_sm_clock_mhz=1980,
            processes=[{"pid": 7, "name": "other", "memory_bytes": 1 << 20}],
        ),
        saved_bytes=4096,
    )


def synthetic_origins(key: str, nodes: int = 3, calls: int = 2) -> Origins:
    """Return origins of a graph in which every `calls` nodes come from one operator and stack."""
    frames = [
        Frame("/synthetic/model.py", 10 + line, "forward", "user" if line % 4 else "library")
        for line in range(40)
    ]
    rows = list(range(nodes))
    groups = max(1, -(-nodes // calls))
    stacks = [tuple((group + depth) % 40 for depth in range(12)) for group in range(groups)]
    modules = [Module(path="", class_name="Model", file="/synthetic/model.py", line=3)]
    modules += [
        Module(path=f"layers.{place}", class_name="Layer", parent=0)
        for place in range(min(groups, 64))
    ]
    return Origins(
        graph=key,
        how=["operators: synthetic"],
        frames=frames,
        stacks=stacks,
        operators=[
            Operator(
                name=f"aten.op{group % 50}.default",
                inputs=(
                    TensorLike("float16", (32, 128 + group % 97), (128, 1)),
                    TensorLike("float16", (128, 512), (512, 1)),
                ),
                scalars=("1.0",),
            )
            for group in range(groups)
        ],
        modules=modules,
        names=["AddmmBackward0", "stream 7", "MainThread"],
        compiled_kernels=[Compiled(kernel="triton_poi_fused_0", operators=("aten.add",))],
        stack=[row // calls for row in rows],
        operator=[row // calls for row in rows],
        module=[(row // calls) % len(modules) for row in rows],
        phase=[1 + (2 * row >= nodes) for row in rows],
        autograd=[0 if 2 * row >= nodes else -1 for row in rows],
        forward=[row // calls if 2 * row >= nodes else -1 for row in rows],
        stream=[1] * nodes,
        thread=[2] * nodes,
        compiled=[-1] * nodes,
        missing={"label": "synthetic: nobody set a label"},
    )


def with_evidence(recording: Recording) -> Recording:
    """Return a recording in which every graph has timings, a benchmark and origins."""
    executables = [Executable(id=f"{key}/exec1", graph=key, replays=3) for key in recording.graphs]
    timings, benchmarks, origins = {}, {}, {}
    for key, info in recording.graphs.items():
        nodes = len(recording.graph(key))
        timings[f"{key}/exec1"] = Timings(
            executable=f"{key}/exec1",
            graph=key,
            node=[str(node) for node in range(nodes)],
            count=[3] * nodes,
            median_ns=[2_000] * nodes,
            makespan_ns=[9_000, 9_100, 9_050],
        )
        benchmarks[key] = synthetic_benchmark(key, nodes)
        origins[key] = synthetic_origins(key, nodes)
        for kind in ("timings", "benchmarks", "origins"):
            info.evidence[kind] = Evidence(present=True, how="synthetic")
    return Recording(
        recording.metadata,
        list(recording.graphs.values()),
        list(recording.failed.values()),
        executables=executables,
        processes=recording.processes,
        timings=timings,
        benchmarks=benchmarks,
        origins=origins,
        loaded={key: recording.graph(key) for key in recording.graphs},
    )
