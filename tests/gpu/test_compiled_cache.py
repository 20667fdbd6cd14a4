"""Compiled graphs that come from the compiler's own cache say their lines as fresh ones do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import capture
from capture.model import Recording

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.up = nn.Linear(64, 128)
        self.down = nn.Linear(128, 64)

    def forward(self, x):
        h = self.norm(x)
        h = torch.nn.functional.gelu(self.up(h))
        return x + self.down(h)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block()
        self.second = Block()

    def forward(self, x):
        return self.second(self.first(x)).square()


torch.manual_seed(0)
net = torch.compile(Net().cuda(), mode="reduce-overhead")
x = torch.randn(32, 64, device="cuda")
for _ in range(4):
    torch.compiler.cudagraph_mark_step_begin()
    net(x).mean().backward()
    net.zero_grad()
torch.cuda.synchronize()
from torch._dynamo.utils import counters
hits = counters["inductor"]["fxgraph_cache_hit"] + counters["aot_autograd"]["autograd_cache_hit"]
print("hits", hits)
"""


def recorded(folder: Path, name: str) -> tuple[Recording, int]:
    script = folder / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    output = folder / f"{name}.cgl"
    done = subprocess.run(
        [sys.executable, "-m", "graphviz_app", "record", "-o", str(output), str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"),
        },
    )
    assert done.returncode == 0, done.stderr
    (hits,) = (line for line in done.stdout.splitlines() if line.startswith("hits "))
    return capture.read(output), int(hits.split()[1])


def kernels(recording: Recording) -> list[tuple[str, tuple[str, ...], list[tuple[str, int]]]]:
    """Return each compiled kernel with its modules and the user's lines."""
    found = []
    for key in recording.graphs:
        origins = recording.origins(key)
        for kernel in origins.compiled_kernels if origins is not None else ():
            frames = [origins.frames[origins.stacks[stack][0]] for stack in kernel.stacks]
            lines = sorted({(Path(frame.file).name, frame.line) for frame in frames})
            found.append((kernel.kernel, tuple(kernel.modules), lines))
    return found


def test_what_the_cache_gives_has_its_lines(tmp_path: Path) -> None:
    fresh, misses = recorded(tmp_path, "fresh")
    cached, hits = recorded(tmp_path, "cached")
    assert (misses, hits > 0) == (0, True)
    before, after = kernels(fresh), kernels(cached)
    assert len(after) == len(before)
    for (name, modules, lines), (same, cached_modules, cached_lines) in zip(
        before, after, strict=True
    ):
        print(name, modules, cached_modules, lines, cached_lines)
        assert same == name
        assert lines, name
        assert cached_lines == lines
    owned = [bool(modules) for _, modules, _ in after]
    assert sum(owned) >= 0.9 * sum(bool(modules) for _, modules, _ in before)
