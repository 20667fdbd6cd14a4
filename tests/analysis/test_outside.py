"""Work outside graphs, and what a compiler left out, of synthetic recordings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import capture
from capture.analysis import Result, Severity, outside_graphs, run_analysis
from capture.errors import FormatError
from capture.evidence import OUTSIDE
from capture.model import Executable, GraphInfo, Metadata, Place, Process, Recording
from capture.origins import Frame
from capture.outside import BETWEEN, INSIDE, Compilation, Outside, Said

MANGLED = "_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi"


def synthetic_outside(**changes: Any) -> Outside:
    fields: dict[str, Any] = {
        "windows": 2,
        "replays": 8,
        "window_ns": 1_000_000,
        "graphs_ns": 600_000,
        "outside_ns": 250_000,
        "busy_ns": 800_000,
        "name": ["host to device", MANGLED, ""],
        "type": ["memcpy", "kernel", "memset"],
        "stream": [7, 7, 13],
        "place": [BETWEEN, INSIDE, BETWEEN],
        "count": [8, 16, 1],
        "total_ns": [200_000, 40_000, 10_000],
        "longest_ns": [30_000, 3_000, 10_000],
        "place_known": True,
    }
    return Outside(**(fields | changes))


def graph(number: int, function: int, parent: int, place: Place | None = None) -> GraphInfo:
    return GraphInfo(
        key=f"g{number}",
        name=f"forward (model.py:{function})",
        process=0,
        device=0,
        place=place or Place(file="/a/model.py", line=function, function="forward"),
        extra={
            "compiled": {
                "function": function,
                "node": number,
                "parent": parent,
                "inputs": 5,
                "copied": 2,
            }
        },
    )


def by_process(items: Sequence[Any] | None) -> dict[str, Any]:
    for number, item in enumerate(items or []):
        item.process = str(number)
    return {item.process: item for item in items or []}


def recording(
    graphs: list[GraphInfo] | None = None,
    outside: list[Outside] | None = None,
    compilation: list[Compilation] | None = None,
) -> Recording:
    graphs = [GraphInfo(key="g", name="g", process=0)] if graphs is None else graphs
    count = max(len(outside or []), len(compilation or []), 1)
    return Recording(
        Metadata(),
        graphs,
        executables=[
            Executable(id=f"{info.key}/exec1", graph=info.key, replays=10) for info in graphs
        ],
        processes=[Process(pid=number) for number in range(count)],
        evidence={
            "outside": by_process(outside),
            "compilation": by_process(compilation),
        },
    )


def column(result: Result, name: str) -> list[Any]:
    place = [item.name for item in result.columns].index(name)
    return [row[place] for row in result.rows]


def test_work_outside_graphs_has_its_share_of_the_time() -> None:
    result = run_analysis("outside_graphs", recording(outside=[synthetic_outside()]))
    assert column(result, "work")[0] == "host to device"
    assert "vectorized_elementwise_kernel" in column(result, "work")[1]
    assert column(result, "launched") == ["between replays", "inside replay()", "between replays"]
    assert column(result, "share of the time") == [0.2, 0.04, 0.01]
    assert result.figures["outside_share"].value == 0.25
    assert result.figures["idle_share"].value == 0.2
    assert result.severity is Severity.NOTICE
    assert not any("count as the script's own" in note for note in result.notes)


def test_two_processes_are_added_up_and_the_longest_comes_first() -> None:
    other = synthetic_outside(total_ns=[1, 2, 300_000], place_known=False, dropped_records=4)
    result = run_analysis("outside_graphs", recording(outside=[synthetic_outside(), other]))
    assert column(result, "total")[:2] == [300_000, 200_000]
    assert result.figures["window"].value == 2_000_000
    assert column(result, "share of the time")[0] == 0.15
    assert any("count as the script's own" in note for note in result.notes)
    assert result.figures["dropped"].value == 4


def test_nothing_beside_the_graphs_is_a_result_and_no_window_is_none() -> None:
    empty: dict[str, Any] = {
        name: [] for name in ("name", "type", "stream", "place", "count", "total_ns")
    }
    quiet = synthetic_outside(**empty, longest_ns=[], outside_ns=0, busy_ns=600_000)
    result = run_analysis("outside_graphs", recording(outside=[quiet]))
    assert result.present
    assert result.rows == []
    assert "nothing ran outside" in result.summary
    assert result.severity is Severity.INFO
    absent = run_analysis("outside_graphs", recording())
    assert "traced" in absent.absent_reason


def with_stacks(**changes: Any) -> Outside:
    frames = [
        Frame("/site-packages/torch/_ops.py", 5, "__call__", "library"),
        Frame("/a/train.py", 9, "step"),
        Frame("/a/train.py", 30, "<module>"),
        Frame("/tmp/torchinductor_me/ab.py", 77, "call", "generated"),
    ]
    fields: dict[str, Any] = {
        "frames": frames,
        "stacks": [(0, 1, 2), (0, 3)],
        "stack": [0, 1, -1],
        "autograd": ["", "MulBackward0", ""],
    }
    return synthetic_outside(**(fields | changes))


def test_work_outside_graphs_names_the_line_that_launched_it() -> None:
    result = run_analysis("outside_graphs", recording(outside=[with_stacks()]))
    generated = "/tmp/torchinductor_me/ab.py:77 call"
    assert column(result, "launched at") == ["/a/train.py:9 step", generated, ""]
    assert column(result, "called from") == ["train.py:30 <module>", "", ""]
    assert column(result, "autograd node") == ["", "MulBackward0", ""]
    assert not any("window" in note and "too many" in note for note in result.notes)
    first, second = outside_graphs.stacks(recording(outside=[with_stacks()]))
    assert [frame.line for frame in first.frames] == [5, 9, 30]
    assert (second.autograd, second.total_ns) == ("MulBackward0", 40_000)
    ended = run_analysis("outside_graphs", recording(outside=[with_stacks(stacks_end=2)]))
    assert any("too many" in note and "window 2" in note for note in ended.notes)


def test_older_recordings_say_that_lines_are_not_known() -> None:
    older = recording(outside=[synthetic_outside()])
    result = run_analysis("outside_graphs", older)
    assert set(column(result, "launched at")) == {""}
    assert outside_graphs.NO_STACKS in result.notes
    assert outside_graphs.stacks(older) == []
    unheard = with_stacks(stack=[-1] * 3, stacks=[], frames=[])
    result = run_analysis("outside_graphs", recording(outside=[unheard]))
    assert outside_graphs.NOT_HEARD in result.notes


@pytest.mark.parametrize(
    "wrong", [{"stack": [0, 2, -1]}, {"stack": [0]}, {"stacks": [(0, 4), (0,)]}]
)
def test_stacks_that_are_not_there_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        OUTSIDE.validate(with_stacks(**wrong), "outside")


def test_graphs_of_the_compiler_by_function() -> None:
    graphs = [graph(0, 3, -1), graph(1, 3, -1), graph(2, 4, 0), graph(3, 4, 1)]
    said = [
        Said(kind="skipped", text="skipping cudagraphs due to cpu device", place="/a/m.py:9"),
        Said(kind="break", text="Tensor.item()", place="", count=3),
    ]
    compiled = Compilation(said=said, counters={"cudagraph_skips": 1, "unique_graphs": 6})
    result = run_analysis("compiler_coverage", recording(graphs, compilation=[compiled]))
    assert column(result, "what") == ["recorded", "recorded", "left out", "graph break"]
    assert column(result, "times") == [2, 2, 1, 3]
    assert column(result, "replays") == [20, 20, None, None]
    again, after = column(result, "why")[:2]
    assert "1 recorded again" in again
    assert "recorded after 2 different graphs" in after
    assert "2 of 5 inputs are copied" in after
    figures = {name: figure.value for name, figure in result.figures.items()}
    assert figures == {
        "functions": 2,
        "graphs": 4,
        "again": 1,
        "skipped": 1,
        "breaks": 3,
        "traced": 6,
    }
    assert result.severity is Severity.NOTICE


def test_a_compiler_that_left_nothing_out_asks_for_no_attention() -> None:
    result = run_analysis(
        "compiler_coverage",
        recording([graph(0, 3, -1)], compilation=[Compilation(counters={"unique_graphs": 1})]),
    )
    assert result.severity is Severity.INFO
    assert result.figures["skipped"].value == 0


def test_what_was_counted_without_a_reason_is_said() -> None:
    compiled = Compilation(counters={"cudagraph_skips": 2})
    result = run_analysis("compiler_coverage", recording(compilation=[compiled]))
    assert result.figures["skipped"].value == 2
    assert any("gave no reason" in note for note in result.notes)


def test_without_a_compiler_it_is_absent() -> None:
    assert "compiled" in run_analysis("compiler_coverage", recording()).absent_reason


@pytest.mark.parametrize("extension", ["cgl", "json"])
def test_both_survive_a_file(tmp_path: Path, extension: str) -> None:
    said = [Said(kind="skipped", text="why", place="a.py:1", count=2)]
    before = recording(
        outside=[synthetic_outside()],
        compilation=[Compilation(said=said, counters={"cudagraph_skips": 2})],
    )
    before.graphs.clear()
    path = tmp_path / f"a.{extension}"
    capture.write(before, path)
    after = capture.read(path)
    outside = after.evidence("outside", "0")
    assert outside.name == ["host to device", MANGLED, ""]
    assert outside.process == "0"
    assert after.evidence("compilation", "0").said == said
