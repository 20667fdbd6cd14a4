"""Size and speed of recordings on disk, against the driver's verbose DOT of the same graph.

    python -m tests.benchmarks.files [-o RESULTS.json] [--dot FILE --recording FILE.cgl]

With `--dot` and `--recording` the two describe one real graph, recorded on a GPU. Without them,
both are synthetic and named so: a chain of 100,000 kernels in the form in which the CUDA 13.0
driver prints one, its arguments repeating as in a loop over few buffers; and, as the worst case,
with different pointers in every node, of which a DOT prints nothing. Needs no GPU.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import re
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import capture.formats as formats
from capture.model import Graph, GraphInfo, Kernel, Metadata, Recording, Topology
from capture.nodes.kernel import KernelPayload

RUNS = 7
ALLOWANCE_SECONDS = 0.4
"""What `cglens info` may take beyond reading the DOT: a Python and its imports."""
KERNEL = (
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEvi"
    "T0_T1_"
)
NODE = re.compile(rb'"graph_\d+_node_\d+"\[')


def seconds(function: Callable[[], Any], runs: int = 1) -> float:
    """Return the median duration of a call."""
    found = []
    for _ in range(runs):
        started = time.perf_counter()
        function()
        found.append(time.perf_counter() - started)
    return statistics.median(found)


def synthetic_dot(count: int) -> str:
    """Return a chain as the driver would print it with the verbose flag."""
    lines = ['digraph dot {\nsubgraph cluster_1 {\nlabel="graph_1" graph[style="dashed"];\n']
    lines += [
        f'"graph_1_node_{i}"[style="bold" shape="record" label="{{KERNEL\n'
        f"| {{ID | {i} (topoId: {count - 1 - i}) | {KERNEL}\\<\\<\\<64,128,0\\>\\>\\>}}\n"
        f"| {{{{node handle | func handle}} | "
        f"{{0x{0x2CDE60B8 + 0x768 * i:016X} | 0x000000002C3CEF90}}}}\n"
        "| {accessPolicyWindow | {base_ptr | num_bytes | hitRatio | hitProp | missProp} | "
        "{0x0000000000000000 | 0 | 0.000000 | N | N}}\n"
        '| {cooperative | 0}\n| {priority | 0}\n}"];\n\n'
        for i in range(count)
    ]
    lines += [
        f'"graph_1_node_{i}" -> "graph_1_node_{i + 1}" [headlabel=0];\n' for i in range(count - 1)
    ]
    return "".join([*lines, "}\n}\n"])


def synthetic_recording(count: int, distinct: bool) -> Recording:
    """Return the same chain as a recording, arguments and all."""
    from capture.formats.summary import summarise

    kernel = Kernel(
        name=KERNEL,
        registers=16,
        static_shared_bytes=0,
        local_bytes=0,
        constant_bytes=0,
        max_threads_per_block=1024,
        ptx_version=90,
        binary_version=90,
        parameters=[(0, 4), (4, 4), (8, 24)],
    )

    def arguments(i: int) -> bytes:
        place = i if distinct else i % 16
        pointers = (0x7F0000000000 + 4096 * (place * 3 + k) for k in range(3))
        return struct.pack("<if3Q", 4096, 1.0, *pointers)

    payloads = [
        KernelPayload(
            kernel=kernel,
            grid=(64, 1, 1),
            block=(128, 1, 1),
            dynamic_shared_bytes=0,
            cooperative=False,
            priority=0,
            max_blocks_per_multiprocessor=16,
            arguments=arguments(i),
            function_handle=0x2C3CEF90,
        )
        for i in range(count)
    ]
    graph = Graph(
        topology=Topology(
            types=["kernel"] * count,
            source=list(range(count - 1)),
            target=list(range(1, count)),
        ),
        payloads=payloads,
        name="synthetic chain",
    )
    info = summarise(GraphInfo(key="synthetic", name="synthetic chain"), graph)
    return Recording(Metadata(title="synthetic chain"), [info], loaded={info.key: graph})


def count_nodes(dot: Path) -> int:
    """Read a DOT's bytes and count its nodes: the peer of `cglens info`."""
    return len(NODE.findall(dot.read_bytes()))


def info_in_a_process(recording: Path) -> None:
    """Run ``cglens info``, start-up included."""
    subprocess.run(
        [sys.executable, "-m", "graphviz_app", "info", str(recording)],
        check=True,
        capture_output=True,
    )


def children_cpu_seconds() -> float:
    """Return the processor time of finished child processes, which other work does not lengthen."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(dot: Path, recording: Path, label: str) -> dict[str, Any]:
    """Compare one graph's recording with its DOT."""
    gzipped = len(gzip.compress(dot.read_bytes(), 6))
    packed = recording.stat().st_size
    ours, peers, ours_cpu, peers_cpu = [], [], [], []
    for _ in range(RUNS):
        before = children_cpu_seconds()
        ours.append(seconds(lambda: info_in_a_process(recording)))
        ours_cpu.append(children_cpu_seconds() - before)
        before = time.process_time()
        peers.append(seconds(lambda: count_nodes(dot)))
        peers_cpu.append(time.process_time() - before)
    peer = statistics.median(peers) + ALLOWANCE_SECONDS
    peer_cpu = statistics.median(peers_cpu) + ALLOWANCE_SECONDS
    our_cpu = statistics.median(ours_cpu)
    opened = formats.read(recording)
    key = next(iter(opened.graphs))
    open_seconds = seconds(lambda: opened.graph(key))
    with tempfile.TemporaryDirectory() as folder:
        copy, document = Path(folder) / "copy.cgl", Path(folder) / "document.json"
        write_seconds = seconds(lambda: formats.write(opened, copy))
        json_seconds = seconds(lambda: formats.write(opened, document))
        json_bytes = document.stat().st_size
    return {
        "graph": label,
        "nodes": opened.graphs[key].node_count,
        "dot_bytes": dot.stat().st_size,
        "dot_gzip_bytes": gzipped,
        "packed_bytes": packed,
        "size_ratio": round(packed / gzipped, 3),
        "info_seconds": round(statistics.median(ours), 3),
        "info_best_seconds": round(min(ours), 3),
        "read_and_count_plus_allowance_seconds": round(peer, 3),
        "info_ratio": round(statistics.median(ours) / peer, 3),
        "info_cpu_seconds": round(our_cpu, 3),
        "read_and_count_plus_allowance_cpu_seconds": round(peer_cpu, 3),
        "info_cpu_ratio": round(our_cpu / peer_cpu, 3),
        "open_graph_seconds": round(open_seconds, 3),
        "write_packed_seconds": round(write_seconds, 3),
        "write_json_seconds": round(json_seconds, 3),
        "json_bytes": json_bytes,
        "read_dot_seconds": round(seconds(lambda: formats.read(dot)), 3),
    }


def main() -> None:
    """Measure, print and optionally store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--dot", type=Path, help="the driver's verbose DOT of a real graph")
    parser.add_argument("--recording", type=Path, help="the recording of the same graph")
    parser.add_argument("--nodes", type=int, default=100_000, help="of the synthetic chain")
    options = parser.parse_args()
    if (options.dot is None) != (options.recording is None):
        parser.error("--dot and --recording belong together")
    rows = []
    if options.dot:
        rows.append(measure(options.dot, options.recording, f"real: {options.dot.name}"))
    else:
        with tempfile.TemporaryDirectory() as folder:
            dot, recording = Path(folder) / "chain.dot", Path(folder) / "chain.cgl"
            dot.write_text(synthetic_dot(options.nodes))
            for distinct in (False, True):
                formats.write(synthetic_recording(options.nodes, distinct), recording, force=True)
                pointers = "own pointers in every node" if distinct else "16 sets of pointers"
                rows.append(measure(dot, recording, f"synthetic chain, {pointers}"))
    result = {
        "command": "python -m tests.benchmarks.files",
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "msgspec": version("msgspec"),
        "load_average": os.getloadavg()[0],
        "goal_ratio": 1.0,
        "results": rows,
    }
    for row in rows:
        print(
            f"{row['graph']}: packed {row['packed_bytes']:,} B / gzipped DOT "
            f"{row['dot_gzip_bytes']:,} B = {row['size_ratio']}; info {row['info_seconds']} s / "
            f"peer {row['read_and_count_plus_allowance_seconds']} s = {row['info_ratio']}, "
            f"processor time {row['info_cpu_ratio']}"
        )
    text = json.dumps(result, indent=1)
    print(text)
    if options.output:
        options.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
