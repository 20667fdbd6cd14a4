"""Measuring from the dashboard: one child, the user's own command, gone with the server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import capture
from capture.measure_request import EACH
from graphviz_app.app import Settings, create_app
from graphviz_app.ids import Shell, WhatIfPage
from graphviz_app.measuring import MeasureError, Measurer, Progress, Step, Workload, free_name
from graphviz_app.store import Store
from tests.helpers import synthetic_benchmarks
from tests.recorder.conftest import ROOT, STAND_IN

from .test_app import dependencies, outputs

SCRIPT = """
import sys, time, torch
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    torch.launch()
    torch.launch()
print("argument", *sys.argv[1:], flush=True)
"""
SLOW = "import time, os\nprint('pid', os.getpid(), flush=True)\ntime.sleep(300)\n"


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(STAND_IN), str(ROOT))))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def measurer(workplace: Path) -> Iterator[Any]:
    made: list[Measurer] = []

    def make(script: str, *args: str) -> tuple[Measurer, Store]:
        Path("train.py").write_text(script)
        store = Store([("train.cgl", synthetic_benchmarks.ladder(2), workplace / "train.cgl")])
        made.append(Measurer(store, Workload("train.py", args), workplace / "train.cgl"))
        return made[-1], store

    yield make
    for one in made:
        one.close()


def wait_for(check: Any, seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = check()
        if found:
            return found
        time.sleep(0.05)
    pytest.fail("it did not happen in time")


def ended(measurer: Measurer) -> Progress:
    wait_for(lambda: measurer.progress().step is not Step.RUNNING)
    return measurer.progress()


def key_of(workplace: Path) -> str:
    """Record the script once, as `cglens run` did before the dashboard came up."""
    from graphviz_app import cli

    assert cli.main(["record", "-o", "first.cgl", "train.py"]) == 0
    return next(iter(capture.read("first.cgl").graphs))


def test_the_new_recording_is_opened_beside_the_first(measurer: Any, workplace: Path) -> None:
    made, store = measurer(SCRIPT, "--epochs", "1")
    key = key_of(workplace)
    made.start(["whatif", "--free=node:1", "--replays", "5"], "node:1", key)
    now = ended(made)
    assert now.step is Step.DONE, now
    assert now.recording in store.opened
    assert made.measured == [now.recording]
    recording = store.get(now.recording).recording
    assert store.get(now.recording).path == workplace / "train.whatif-1.cgl"
    assert recording.metadata.command == ["train.py", "--epochs", "1"]
    benchmark = recording.benchmark(key)
    assert benchmark is not None
    assert [removal.asked for removal in benchmark.removals] == ["node:1"]
    assert benchmark.removals[0].nodes == ["1"]


def test_a_graph_that_the_new_run_does_not_have_is_said(measurer: Any) -> None:
    made, _ = measurer(SCRIPT)
    made.start(["bench"], "it", "no such graph")
    now = ended(made)
    assert now.step is Step.DONE
    assert "exit code" in now.message
    assert any("no graph 'no such graph'" in line for line in now.lines)


def test_a_workload_that_fails_says_how_it_ended(measurer: Any) -> None:
    made, store = measurer("import sys\nprint('no luck here')\nsys.exit(5)\n")
    made.start(["bench"], "it", "any")
    now = ended(made)
    assert now.step is Step.FAILED
    assert "exit code 5" in now.message
    assert any("no luck here" in line for line in now.lines)
    assert len(store.opened) == 1


def pid_in(lines: tuple[str, ...]) -> int:
    return next((int(line.split()[1]) for line in lines if line.startswith("pid ")), 0)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_one_at_a_time_and_cancelled_with_all_it_started(measurer: Any, workplace: Path) -> None:
    made, store = measurer(SLOW)
    made.start(["bench"], "the graph", "any")
    pid = wait_for(lambda: pid_in(made.progress().lines))
    assert alive(pid)
    with pytest.raises(MeasureError, match="the graph is being measured"):
        made.start(["bench"], "another", "any")
    made.cancel()
    assert ended(made).step is Step.CANCELLED
    wait_for(lambda: not alive(pid), 15)
    assert len(store.opened) == 1


SERVER = """
import sys, time
from pathlib import Path
from graphviz_app.measuring import Measurer, Workload
made = Measurer(None, Workload("train.py"), Path("train.cgl").resolve())
made.start(["bench"], "it", "any")
while True:
    for line in made.progress().lines:
        print(line, flush=True)
    time.sleep(0.1)
"""


def test_the_child_ends_with_a_server_that_is_killed(workplace: Path) -> None:
    Path("train.py").write_text(SLOW)
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True, cwd=workplace
    )
    assert server.stdout is not None
    pid = 0
    for line in server.stdout:
        if line.startswith("pid "):
            pid = int(line.split()[1])
            break
    try:
        assert alive(pid)
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()
        server.stdout.close()
    wait_for(lambda: not alive(pid), 15)


def test_a_file_never_makes_the_dashboard_run_anything() -> None:
    # What a recording says of its command is shown to copy; only `cglens run` gives a workload.
    store = Store([("a.cgl", synthetic_benchmarks.with_everything(), Path("/nowhere/a.cgl"))])
    create_app(store)
    assert store.measurer is None


def test_others_on_the_network_cannot_start_a_measurement() -> None:
    store = Store([("a.cgl", synthetic_benchmarks.with_everything(), Path("/nowhere/a.cgl"))])
    create_app(store, Settings(host="0.0.0.0", workload=Workload("train.py")))
    assert store.measurer is None


def test_the_button_measures_what_is_on_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store([("a.cgl", synthetic_benchmarks.with_everything(), Path("/nowhere/a.cgl"))])
    app = create_app(store, Settings(workload=Workload("train.py", ("--x",))))
    started: list[tuple[Any, ...]] = []
    assert store.measurer is not None
    monkeypatch.setattr(store.measurer, "start", lambda *words: started.append(words))
    place = {"page": "whatif", "recording": "a", "graph": "train.py:layers#0"}

    def click(**view: str) -> str:
        (entry,) = [
            item for item in dependencies(app) if f"{WhatIfPage.PROGRESS}.children" in outputs(item)
        ]
        values = {
            f"{WhatIfPage.START}.n_clicks": 1,
            f"{Shell.PLACE}.data": {**place, **view},
        }
        names = outputs(entry)
        body = {
            "output": entry["output"],
            "outputs": [
                dict(zip(("id", "property"), name.rsplit(".", 1), strict=True)) for name in names
            ],
            "inputs": [
                {**item, "value": values.get(f"{item['id']}.{item['property']}")}
                for item in entry["inputs"]
            ],
            "state": [
                {**item, "value": values.get(f"{item['id']}.{item['property']}")}
                for item in entry["state"]
            ],
            "changedPropIds": [f"{WhatIfPage.START}.n_clicks"],
        }
        answer = app.server.test_client().post("/_dash-update-component", json=body)
        assert answer.status_code == 200
        return str(answer.get_data(as_text=True))

    assert "no kernel is of family" in click(view="family:nope")
    assert "choose nodes first" in click(view="")
    assert started == []
    click(view="type:memset")
    ((words, what, graph),) = started
    assert words == ["whatif", "--free=type:memset"]
    assert what.startswith("type:memset of ")
    assert graph == "train.py:layers#0"
    click(view=EACH)
    assert started[-1][0] == ["whatif", "--each"]


def test_names_of_new_recordings_are_free(tmp_path: Path) -> None:
    first = free_name(tmp_path / "a.cgl", "bench")
    first.write_bytes(b"")
    assert free_name(tmp_path / "a.cgl", "bench").name == "a.bench-2.cgl"
