"""``cglens info``: everything that is known, and nothing that is heavy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import capture.formats as formats
from capture.analysis import Scope, analyses
from capture.model import (
    Evidence,
    Executable,
    Failure,
    Gpu,
    GraphInfo,
    Metadata,
    Place,
    Process,
    Recording,
)
from graphviz_app import cli
from tests.formats.test_cgl import rewrite
from tests.formats.test_driver_dot import DATA
from tests.helpers import synthetic
from tests.helpers.recordings import chain, recording_of
from tests.helpers.stored_evidence import with_evidence


@pytest.fixture
def rich_recording() -> Recording:
    """A synthetic recording with something in every part."""
    base = recording_of(chain(3), chain(1500))
    first = base.graphs["synthetic-0"]
    first.place = Place(file="train.py", line=12, function="step")
    first.evidence = {
        "timings": Evidence(present=False, reason="CUPTI is not installed; pip install it"),
        "parameters": Evidence(present=True, how="cuGraphKernelNodeGetParams"),
    }
    first.warnings = ["one odd thing"]
    failed = GraphInfo(
        key="train.py:bad:0",
        name="bad",
        node_count=4,
        failure=Failure(
            error="RuntimeError",
            message="operation not permitted when stream is capturing",
            place=Place(file="train.py", line=99, function="bad"),
            nodes_read=False,
            reason="the graph was gone",
        ),
    )
    return Recording(
        Metadata(
            title="train.py",
            command=["python", "train.py", "--fast now"],
            started_unix_ns=1_700_000_000_000_000_000,
            duration_ns=2_500_000_000,
            exit_code=3,
            source="recorded",
        ),
        list(base.graphs.values()),
        [failed],
        executables=[
            Executable(id="exec-0", graph="synthetic-1", replays=41, ended="alive at exit"),
            Executable(id="exec-1", graph="synthetic-1", replays=1),
        ],
        processes=[
            Process(
                pid=7,
                ended="lost",
                versions={"torch": "9.9", "driver": "580"},
                gpus=[Gpu(index=0, name="Synthetic GPU")],
                costs_ns={"reading": 1_500_000},
            )
        ],
        loaded={key: base.graph(key) for key in base.graphs},
    )


@pytest.fixture
def packed(tmp_path: Path, rich_recording: Recording) -> Path:
    path = tmp_path / "train.cgl"
    rich_recording.graphs["synthetic-0"].node_count = 3
    rich_recording.failed["train.py:bad:0"].failure.nodes_read = False  # type: ignore[union-attr]
    formats.write(rich_recording, path)
    return path


def run(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    assert cli.main(["info", *map(str, args)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_everything_is_summed_up(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(capsys, packed)
    for part in (
        "train.py",
        "2 graphs, 1,503 nodes, 1,501 edges, 1 failed capture",
        "python train.py '--fast now'",
        "2023-11-14 22:13:20 UTC",
        "2.5 s, exit code 3",
        "Synthetic GPU",
        "torch 9.9",
        "1 of 1 processes ended without notice",
        "reading 1.5 ms",
        "synthetic-1",
        "1,500 kernel",
        "RuntimeError: operation not permitted when stream is capturing",
        "train.py:99 in bad",
        "nodes not read: the graph was gone",
        "present for 1 of 2 (cuGraphKernelNodeGetParams)",
        "absent: CUPTI is not installed; pip install it",
        "warning: one odd thing",
    ):
        assert part in shown, part
    (row,) = [line for line in shown.splitlines() if "synthetic-1" in line]
    assert row.split()[:7] == ["synthetic-1", "1,500", "1,499", "0", "1", "1,500", "42"]


def test_one_graph(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(capsys, packed, "--graph", "synthetic-1")
    assert "exec-0: 41 replays, alive at exit" in shown
    assert "exec-1: 1 replay" in shown
    assert "synthetic-0" not in shown
    shown = run(capsys, packed, "--graph", "synthetic-0")
    assert "train.py:12 in step" in shown


def test_json(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(run(capsys, packed, "--json"))
    assert [graph["key"] for graph in document["graphs"]] == ["synthetic-0", "synthetic-1"]
    assert document["failed"][0]["failure"]["error"] == "RuntimeError"
    assert document["metadata"]["exit_code"] == 3
    one = json.loads(run(capsys, packed, "--json", "--graph", "synthetic-1"))
    assert [graph["key"] for graph in one["graphs"]] == ["synthetic-1"]
    assert [item["id"] for item in one["executables"]] == ["exec-0", "exec-1"]


def test_only_the_first_graphs_unless_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "many.cgl"
    formats.write(recording_of(*[chain(2) for _ in range(25)]), path)
    shown = run(capsys, path)
    assert "synthetic-19" in shown
    assert "synthetic-20" not in shown
    assert "and 5 more: --all" in shown
    assert "synthetic-24" in run(capsys, path, "--all")


def test_the_drivers_dot(capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(capsys, DATA / "truncated_inside_a_label.dot")
    assert "incomplete" in shown
    assert "at line 21" in shown
    assert "absent: a DOT has none" in shown


def test_terminal_codes_in_names_are_not_acted_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = recording_of(chain(1))
    info = recording.graphs.pop("synthetic-0")
    info.key = info.name = "evil\x1b[2J[bold]key[/bold]"
    path = tmp_path / "evil.cgl"
    formats.write(
        Recording(Metadata(title="\x1b]0;title\x07"), [info], loaded={info.key: chain(1)}), path
    )
    shown = run(capsys, path)
    assert "\x1b" not in shown
    assert "[bold]key[/bold]" in shown


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["nowhere.cgl"], 1, "no such file"),
        ([], 2, "Missing argument"),
    ],
)
def test_failures_are_one_line(
    args: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["info", *args]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    if code == 1:
        assert captured.err.count("\n") == 1


def test_an_unknown_key(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", str(packed), "--graph", "nope"]) == 1
    assert "no graph 'nope'" in capsys.readouterr().err


def test_it_loads_nothing_heavy(packed: Path) -> None:
    heavy = {"numpy", "networkx", "dash", "plotly", "flask", "torch", "cuda", "multiprocessing"}
    program = (
        "import sys; from graphviz_app.cli import main\n"
        f"assert main(['info', {str(packed)!r}]) == 0\n"
        f"print(sorted({heavy!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"


@pytest.fixture
def timed(tmp_path: Path) -> Path:
    """A recording of one graph with synthetic timings."""
    path = tmp_path / "timed.cgl"
    graphs = {"layers": synthetic.layers(3)}
    formats.write(synthetic.recording(graphs, failed=False, timed=["layers"]), path)
    return path


def test_a_timed_graph_shows_coverage_cost_longest_nodes_and_findings(
    timed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = run(capsys, timed, "--graph", "train.py:layers#0")
    for part in (
        "24 of 25 nodes timed; traced replays took 1.42",
        "Longest 5 nodes",
        "20 µs",
        "memcpy HtoD",
        *(entry.title for entry in analyses().values() if entry.scope is Scope.GRAPH),
    ):
        assert part in shown
    assert shown.index("Longest") < shown.index("Analyses") < shown.index("Critical path")


def test_a_graph_without_timings_says_so_once(
    packed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = run(capsys, packed, "--graph", "synthetic-0")
    assert "No timings: CUPTI is not installed; pip install it." in shown
    assert "absent: " in shown
    assert shown.count("CUPTI is not installed") <= 3


def test_findings_load_no_library_that_is_heavy(timed: Path) -> None:
    program = (
        "import sys\n"
        "from graphviz_app import cli\n"
        f"cli.main(['info', {str(timed)!r}, '--graph', 'train.py:layers#0'])\n"
        "names = ('dash', 'plotly', 'numpy', 'networkx', 'torch', 'cuda')\n"
        "print([name for name in names if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.fixture
def benchmarked(tmp_path: Path) -> Path:
    """A recording of two graphs with made-up benchmarks."""
    path = tmp_path / "bench.cgl"
    recording = with_evidence(recording_of(chain(3), chain(5)))
    for batch, info in zip((8, 64), recording.graphs.values(), strict=True):
        info.label = f"batch={batch}"
    formats.write(recording, path)
    return path


def test_benchmarks_of_a_recording_are_a_table(
    benchmarked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = run(capsys, benchmarked)
    assert "Replays by batch size" in shown
    assert "2 of 2 graphs were measured, with batch 8 to 64" in shown
    (row,) = [line for line in shown.splitlines() if "batch=64" in line]
    assert row.split()[2:] == ["64", "5", "20.1", "µs", "150", "ns", "7.1", "µs", "27.2", "µs",
                               "314", "ns", "benchmark"]  # fmt: skip


def test_the_benchmark_of_a_graph(benchmarked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(capsys, benchmarked, "--graph", "synthetic-1")
    assert shown.index("Benchmark") < shown.index("replay, warm L2") < shown.index("Analyses")
    for words in ("20.1 µs", "Cost of a replay", "Costs of nodes", "Measured without nodes"):
        assert words in shown


def test_benchmarks_and_curves_in_json(
    benchmarked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(run(capsys, benchmarked, "--json"))
    assert [item["graph"] for item in document["benchmarks"]] == ["synthetic-0", "synthetic-1"]
    assert document["benchmarks"][0]["replay_ns"] == [20_000, 20_300, 20_100]
    curve = document["analyses"]["replay_curve"]
    assert [row[4] for row in curve["rows"]] == [20_100, 20_100]
    one = json.loads(run(capsys, benchmarked, "--json", "--graph", "synthetic-1"))
    assert [item["graph"] for item in one["benchmarks"]] == ["synthetic-1"]


def test_a_damaged_benchmark_costs_only_itself(
    benchmarked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(benchmarked, {"benchmarks/1.json": b"{"})
    shown = run(capsys, benchmarked)
    assert "What was measured of synthetic-1 cannot be read" in shown
    document = json.loads(run(capsys, benchmarked, "--json"))
    assert "not valid JSON" in document["benchmarks"][1]["error"]
    shown = run(capsys, benchmarked, "--graph", "synthetic-1")
    assert "The benchmark cannot be read" in shown
    assert "Critical path" in shown


def test_a_failed_capture_has_its_callers_and_its_stream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = GraphInfo(
        key="f",
        name="f",
        failure=Failure(
            error="E",
            message="m",
            kind="host_sync",
            place=Place(file="hook.py", line=14, function="note"),
            stack=[Place(file="hook.py", line=n, function=f"f{n}") for n in (14, 27, 31)],
            stream="0x5",
        ),
    )
    path = tmp_path / "failed.cgl"
    formats.write(Recording(Metadata(), [], [failed], loaded={"f": chain(1)}), path)
    assert cli.main(["info", str(path)]) == 0
    lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    called = [line[2] for line in lines if line[:2] == ["called", "by"]]
    assert called == ["hook.py:27 in f27", "hook.py:31 in f31"]
    assert ["stream", "0x5"] in lines
