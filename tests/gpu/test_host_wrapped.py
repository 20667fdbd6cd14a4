"""Callbacks of the script that cuda.bindings calls from a graph, through data that it frees."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import capture
from capture.analysis import run_analysis
from capture.analysis.base import Severity
from capture.analysis.subject import Subject

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import ctypes
import sys
import torch
from cuda.bindings import driver, runtime

calls = []
callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(calls.append)
address = int.from_bytes(bytes(callback), sys.byteorder)
x = torch.ones(8, device="cuda")
x * 2
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
    stream = torch.cuda.current_stream().cuda_stream
    if {driver}:
        (error,) = driver.cuLaunchHostFunc(stream, driver.CUhostFn(address), 7)
    else:
        (error,) = runtime.cudaLaunchHostFunc(stream, runtime.cudaHostFn_t(address), 7)
    assert int(error) == 0
for _ in range({replays}):
    graph.replay()
    torch.cuda.synchronize()
assert calls == [7] * {replays}
"""


@pytest.mark.parametrize(
    ("driver", "replays", "severity", "confidence"),
    [
        (True, 0, Severity.NOTICE, "likely"),
        (True, 1, Severity.WARNING, "certain"),
        (False, 1, Severity.WARNING, "certain"),
    ],
)
def test_it_is_said_that_a_second_replay_uses_freed_data(
    tmp_path: Path, driver: bool, replays: int, severity: Severity, confidence: str
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(driver=driver, replays=replays), encoding="utf-8")
    output = tmp_path / "out.cgl"
    done = subprocess.run(
        [sys.executable, "-m", "graphviz_app", "record", "-o", str(output), str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
    )
    assert done.returncode == 0, done.stderr
    recording = capture.read(output)
    (key,) = recording.graphs
    subject = Subject(recording.graph(key), recording.info(key))
    result = run_analysis("host_functions", subject)
    assert result.severity is severity
    ((_, _, owner, what, _, _, sure),) = result.rows
    assert (sure, "cuda.bindings free" in str(what)) == (confidence, True)
    assert "calls.append" in str(owner) or "ctypes callback" in str(owner)
