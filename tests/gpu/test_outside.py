"""Work outside graphs, what a compiler left out, and whether dry runs agree with the hardware."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import capture
from capture.analysis import run_analysis
from capture.model import Recording
from tests.ready.test_zoo import BAD, GOOD, as_scripts, dry_runs, expected

ROOT = Path(__file__).resolve().parents[2]
READY = ROOT / "tests" / "ready"
NO_FAILURE = {"side_stream_not_captured", "compiled_with_item"}
"""Scripts whose fault makes no capture fail: work is left out in silence."""
TOO_LARGE = {"seventy_billion"}


def recorded(script: Path, text: str) -> Recording:
    script.write_text(text, encoding="utf-8")
    output = script.with_suffix(".cgl")
    done = subprocess.run(
        [sys.executable, "-m", "graphviz_app", "record", "-o", str(output), str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
    )
    assert done.returncode == 0, done.stderr
    return capture.read(output)


def test_work_between_replays_is_seen_with_its_share(tmp_path: Path) -> None:
    recording = recorded(
        tmp_path / "script.py",
        "import torch\n"
        "host = torch.randn(512, 512).pin_memory()\n"
        "x = torch.randn(512, 512, device='cuda')\n"
        "def step(): return torch.nn.functional.dropout(x @ x, 0.5).relu()\n"
        "side = torch.cuda.Stream()\n"
        "with torch.cuda.stream(side):\n"
        "    for _ in range(3): step()\n"
        "torch.cuda.synchronize()\n"
        "graph = torch.cuda.CUDAGraph()\n"
        "with torch.cuda.graph(graph): y = step()\n"
        "for _ in range(50):\n"
        "    x.copy_(host, non_blocking=True)\n"
        "    graph.replay()\n"
        "    y.cumsum(0)\n"
        "torch.cuda.synchronize()\n",
    )
    outside = recording.evidence("outside", "0")
    assert outside.windows == 3  # traced in turns of 3, 5 and 12
    assert outside.replays == 20
    rows = dict(zip(zip(outside.name, outside.type, strict=True), outside.count, strict=True))
    # Between the replays of a window, so one time less than there are replays in it.
    assert rows["host to device", "memcpy"] == 20 - 3
    scans = sum(count for (name, _), count in rows.items() if "scan" in name)
    assert scans == 20 - 3
    # A graph with dropout: torch fills seed and offset before it launches the graph.
    assert outside.place_known
    places = list(zip(outside.name, outside.place, outside.count, strict=True))
    filled = [(place, count) for name, place, count in places if "FillFunctor" in name]
    assert filled == [("replay", 2 * (20 - 3))]
    assert {place for name, place, _ in places if "FillFunctor" not in name} == {"between"}
    assert 0 < outside.outside_ns <= outside.busy_ns <= outside.window_ns
    assert outside.graphs_ns <= outside.busy_ns
    assert outside.dropped_records == 0
    result = run_analysis("outside_graphs", recording)
    share = result.figures["outside_share"].value
    assert isinstance(share, float)
    assert 0 < share < 1


EAGER = """
import torch
import triton
import triton.language as tl


@triton.jit
def add_one(p, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(p + o, tl.load(p + o, mask=o < n) + 1, mask=o < n)


x = torch.randn(512, 512, device="cuda")
w = torch.randn(512, 512, device="cuda", requires_grad=True)
buffer = torch.empty(4096, device="cuda", dtype=torch.uint8)


def work():
    x + 1  # add
    x @ x  # matmul
    x.cpu()  # to the host
    buffer.zero_()  # memset
    add_one[(64,)](x, 512 * 512, B=4096)  # triton
    loss = (w * w).sum()  # forward
    loss.backward()  # backward


def step():
    return torch.nn.functional.dropout(x, 0.5)


side = torch.cuda.Stream()
with torch.cuda.stream(side):
    for _ in range(3):
        step()
work()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step()
for _ in range(30):
    graph.replay()  # replay
    work()
torch.cuda.synchronize()
"""


def test_work_between_replays_has_the_line_that_launched_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    outside = recorded(script, EAGER).evidence("outside", "0")
    comments = {
        number: line.partition("  # ")[2] for number, line in enumerate(EAGER.split("\n"), 1)
    }
    found: dict[str, list[int]] = {}
    for row, stack in enumerate(outside.stack):
        frames = [outside.frames[at] for at in outside.stacks[stack]] if stack >= 0 else []
        users = [frame for frame in frames if frame.file == str(script)]
        found.setdefault(comments[users[0].line] if users else "", []).append(row)
    said = {
        line: [
            (outside.name[row], outside.type[row], outside.count[row], outside.autograd[row])
            for row in rows
        ]
        for line, rows in found.items()
    }
    assert set(found) == {
        *("add", "matmul", "to the host", "memset", "triton", "forward", "backward", "replay")
    }, said
    pieces = 20 - outside.windows
    for line, rows in found.items():
        assert all(outside.count[row] % pieces == 0 for row in rows), said
        inside = {outside.place[row] for row in rows}
        assert inside == {"replay" if line == "replay" else "between"}, said
    kinds = {line: {outside.type[row] for row in rows} for line, rows in found.items()}
    assert kinds["to the host"] == {"memcpy"}
    assert kinds["add"] == kinds["replay"] == kinds["triton"] == {"kernel"}
    assert any("add_one" in outside.name[row] for row in found["triton"])
    nodes = {outside.autograd[row] for row in found["backward"]}
    assert "MulBackward0" in nodes, said
    assert all(not outside.autograd[row] for row in found["forward"])
    assert outside.stacks_end == 0
    shown = run_analysis("outside_graphs", capture.read(script.with_suffix(".cgl")))
    at = [column.name for column in shown.columns].index("launched at")
    assert all(str(row[at]).startswith(f"{script}:") for row in shown.rows)


def test_what_the_compiler_left_out_is_said(tmp_path: Path) -> None:
    recording = recorded(
        tmp_path / "script.py",
        "import torch\n"
        "@torch.compile(mode='reduce-overhead')\n"
        "def good(x, w): return torch.relu(x @ w).sum(1)\n"
        "@torch.compile(mode='reduce-overhead')\n"
        "def on_host(x, c): return x * 2, c + 1\n"
        "@torch.compile(mode='reduce-overhead')\n"
        "def breaks(x):\n"
        "    y = x * 2\n"
        "    torch._dynamo.graph_break()\n"
        "    return y.sin()\n"
        "w = torch.randn(64, 64, device='cuda')\n"
        "for _ in range(6):\n"
        "    torch.compiler.cudagraph_mark_step_begin()\n"
        "    good(torch.randn(64, 64, device='cuda'), w)\n"
        "    on_host(torch.randn(8, device='cuda'), torch.randn(8))\n"
        "    breaks(torch.randn(64, device='cuda'))\n"
        "torch.cuda.synchronize()\n",
    )
    noted = [info.extra.get("compiled") for info in recording.graphs.values()]
    compiled = [item for item in noted if isinstance(item, dict)]
    assert len({item["function"] for item in compiled}) >= 3
    assert all(item["inputs"] >= 1 for item in compiled)
    found = recording.evidence("compilation", "0")
    # Up to torch 2.8 the whole function is left out; since then its operators on the host are.
    left_out = [item for item in found.said if item.kind in ("skipped", "parted")]
    assert any("cpu" in item.text for item in left_out), found.said
    assert any(item.place.endswith("script.py:5") for item in left_out), found.said
    assert any(item.kind == "break" for item in found.said)
    result = run_analysis("compiler_coverage", recording)
    assert result.present
    said = {row[0] for row in result.rows}
    assert said >= {"recorded", "graph break"}
    assert said & {"left out", "between graphs"}


def test_what_a_dry_run_says_is_so_on_hardware() -> None:
    scripts = [path for path in (*BAD, *GOOD) if path.stem not in NO_FAILURE | TOO_LARGE]
    done = subprocess.run(
        [sys.executable, str(READY / "forked_real.py"), *map(str, scripts)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(lines) == len(scripts), done.stderr[-2000:]
    errors = {line["script"]: line["error"] for line in lines}
    healthy = {path.stem for path in BAD if path in scripts and not errors[path.stem]}
    broken = {path.stem: errors[path.stem] for path in GOOD if errors.get(path.stem)}
    assert (healthy, broken) == (set(), {})


def test_a_dry_run_says_the_same_with_a_gpu_in_the_machine(tmp_path: Path) -> None:
    scripts = [*BAD, *GOOD]
    results = dry_runs(as_scripts(scripts), tmp_path)
    wrong = {}
    for script in scripts:
        result = results[script.stem]
        found = sorted({(item.kind, item.stack[0].line) for item in result.found})
        kind, lines = expected(script) if script in BAD else ("", [])
        if result.failure is not None or found != [(kind, line) for line in lines]:
            wrong[script.stem] = (result.failure, found)
    assert wrong == {}
