"""Failed captures of scripts on the stand-in for torch: what is recorded, printed and unchanged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capture.model import Failure, GraphInfo
from tests.recorder.conftest import Workplace

BEGIN = """
    import torch

    x = torch.Tensor()
    g = torch.cuda.CUDAGraph()
"""
ITEM = (
    BEGIN
    + """
    def guilty():
        return 1 + x.item()

    with torch.cuda.graph(g):
        torch.launch(x)
        guilty()
    """
)


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


def failure_of(info: GraphInfo) -> Failure:
    assert info.failure is not None
    return info.failure


def recorded(place: Workplace, script: str, code: int = 1) -> tuple[GraphInfo, Failure]:
    place.write("script.py", script)
    plain = place.python("script.py")
    done = place.record("script.py")
    assert (done.code, plain.code) == (code, code), done.err
    assert done.out == plain.out
    for line in plain.err.splitlines()[-1:]:
        assert line in done.err
    recording = done.recording()
    infos = [*recording.failed.values(), *recording.graphs.values()]
    (info,) = [info for info in infos if info.failure is not None]
    return info, failure_of(info)


def test_the_kind_the_line_and_the_expression_are_recorded(place: Workplace) -> None:
    info, failure = recorded(place, ITEM)
    assert (failure.kind, failure.confidence) == ("host_sync", "certain")
    assert failure.place is not None
    assert (failure.place.function, failure.place.line) == ("guilty", 8)
    assert failure.call == "x.item()"
    assert failure.code == 900
    assert [place.function for place in failure.stack][-2:] == ["guilty", "<module>"]
    assert failure.thread == "MainThread"
    assert failure.stream == info.stream
    assert failure.facts["status"] == "invalidated"
    assert failure.found_by == "the traceback of the error"


def test_the_closing_lines_of_record_say_what_to_do(place: Workplace) -> None:
    place.write("script.py", ITEM)
    done = place.record("script.py")
    lines = [line for line in done.err.splitlines() if line.startswith("cglens:")]
    assert lines[0].startswith("cglens: recorded 0 graphs with 0 nodes and 1 failed capture")
    assert lines[1].startswith("cglens: capture failed: Host synchronisation at ")
    assert lines[1].endswith("script.py:8: x.item()")
    assert lines[2].startswith("cglens: what to do: Keep the value on the GPU")
    assert "https://" in lines[2]


def test_a_failure_that_repeats_is_said_once(place: Workplace) -> None:
    place.write(
        "script.py",
        BEGIN
        + """
    for _ in range(3):
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                x.item()
        except RuntimeError:
            pass
    """,
    )
    done = place.record("script.py")
    assert done.code == 0
    lines = [line for line in done.err.splitlines() if "capture failed" in line]
    assert len(lines) == 1
    assert lines[0].endswith("(3 captures)")


def test_info_shows_kind_advice_and_documentation(place: Workplace) -> None:
    place.write("script.py", ITEM)
    place.record("script.py")
    shown = place.cglens("info", "out.cgl").out
    for part in ("Host synchronisation", "script.py:8 in guilty: x.item()", "what to do", "https"):
        assert part in shown
    (failed,) = json.loads(place.cglens("info", "--json", "out.cgl").out)["failed"]
    assert failed["failure"]["kind"] == "host_sync"


def test_an_error_of_the_scripts_own_is_said_to_be_that(place: Workplace) -> None:
    info, failure = recorded(
        place,
        BEGIN
        + """
    with torch.cuda.graph(g):
        torch.launch(x)
        raise ValueError("mine")
    """,
    )
    assert (failure.kind, failure.confidence) == ("own_error", "certain")
    assert failure.place is not None
    assert failure.place.line == 9
    # torch ended the capture without an error: what it holds is a graph, and can be opened.
    assert info.node_count == 1


def test_a_begin_that_is_refused_is_a_failed_capture(place: Workplace) -> None:
    info, failure = recorded(
        place,
        BEGIN
        + """
    with torch.cuda.graph(g):
        torch.launch(x)
    with torch.cuda.graph(g):
        torch.launch(x)
    """,
    )
    assert (failure.kind, failure.confidence) == ("graph_object", "certain")
    assert failure.place is not None
    assert failure.place.line == 9
    assert not failure.nodes_read
    assert failure.reason == "the capture never began"
    assert info.key.endswith("#1")


def test_an_end_on_another_stream_is_said_when_no_other_end_came(place: Workplace) -> None:
    _, failure = recorded(
        place,
        BEGIN
        + """
    with torch.cuda.stream(torch.cuda.Stream()):
        g.capture_begin()
        torch.launch(x)
    g.capture_end()
    """,
    )
    assert (failure.kind, failure.confidence) == ("mismatched_end", "certain")
    assert failure.place is not None
    assert failure.place.line == 10
    assert failure.nodes_read


def test_an_exception_between_begin_and_end_is_the_reason(place: Workplace) -> None:
    _, failure = recorded(
        place,
        BEGIN
        + """
    with torch.cuda.stream(torch.cuda.Stream()):
        g.capture_begin()
        x.item()
        g.capture_end()
    """,
    )
    assert failure.kind == "host_sync"
    assert failure.place is not None
    assert failure.place.line == 9
    assert failure.error == "RuntimeError"


def test_a_capture_that_is_forgotten_is_said_to_be_that(place: Workplace) -> None:
    _, failure = recorded(
        place,
        BEGIN
        + """
    g.capture_begin()
    torch.launch(x)
    """,
        code=0,
    )
    assert (failure.kind, failure.confidence) == ("not_ended", "certain")
    assert failure.place is not None
    assert failure.place.line == 7


def test_an_error_that_wraps_cudas_is_not_the_scripts_own(place: Workplace) -> None:
    _, failure = recorded(
        place,
        BEGIN
        + """
    with torch.cuda.graph(g):
        try:
            x.item()
        except RuntimeError as error:
            raise LookupError("no value") from error
    """,
    )
    assert failure.error == "LookupError"
    assert failure.kind == "host_sync"
    assert failure.first_error.startswith("RuntimeError: CUDA error")
    assert failure.place is not None
    assert failure.place.line == 9
