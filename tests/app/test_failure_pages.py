"""Failed captures on the overview and on their own page."""

from __future__ import annotations

import json
from pathlib import Path

import dash
import pytest

from capture.failures import kind_of, kinds
from capture.model import Failure, GraphInfo, LeftOut, Metadata, Place, Recording
from graphviz_app.app import create_app
from graphviz_app.failure_facts import closing_lines, stack
from graphviz_app.ids import Shell
from graphviz_app.source_access import SourceAccess
from graphviz_app.store import Store
from tests.app.test_app import details_at, page_at
from tests.failures.recordings import entries, zoo_recording
from tests.helpers import synthetic

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def app() -> dash.Dash:
    named = [("zoo", zoo_recording()), ("run", synthetic.typical()), ("none", without_failures())]
    return create_app(Store(named, sources=SourceAccess([ROOT])))


def without_failures() -> Recording:
    return synthetic.recording({"chain": synthetic.chain(3)}, failed=False)


def shown(app: dash.Dash, path: str, query: str) -> str:
    return json.dumps(page_at(app, path, query)[Shell.CONTENT]["children"])


@pytest.mark.parametrize("name", entries())
def test_a_failure_is_shown_with_its_line_and_what_to_do(app: dash.Dash, name: str) -> None:
    entry = entries()[name]
    content = shown(app, "/failures", f"?recording=zoo&view={name}%230")
    kind = kind_of(entry["expected"]["kind"])
    assert kind.title in content
    assert json.dumps(kind.advice[0].split("`")[0].strip())[1:-1] in content
    assert kind.documentation in content
    assert '"className": "line guilty"' in content
    assert "# <- fails here" in content


def test_the_overview_lists_kind_and_line_and_leads_to_the_page(app: dash.Dash) -> None:
    content = shown(app, "/", "?recording=zoo")
    assert "Host synchronisation" in content
    assert "tests/failures/zoo/item.py:15" in content
    assert "/failures?recording=zoo&view=item%230" in content


def test_a_recording_from_before_failures_were_judged(app: dash.Dash) -> None:
    content = shown(app, "/failures", "?recording=run")
    assert "Reason not known" in content
    assert "did not judge failures" in content
    assert "What to do" not in content
    assert "5 nodes" in content


def test_no_failure_is_a_sentence(app: dash.Dash) -> None:
    assert "No capture failed in this recording." in shown(app, "/failures", "?recording=none")


def test_sources_outside_the_allowed_folders_are_not_read() -> None:
    app = create_app(Store([("zoo", zoo_recording())]))
    content = shown(app, "/failures", "?recording=zoo&view=item%230")
    assert "z = y + 1" not in content.replace("# <- fails here z = y + 1", "")
    assert "loss.item()" in content
    assert "--sources" in content


def test_frames_of_libraries_are_told_from_the_users() -> None:
    info = zoo_recording().failed["triton_autotune#0"]
    assert info.failure is not None
    frames = stack(info.failure)
    assert frames[0][1]
    users = [place for place, library in frames if not library]
    assert [Path(place.file).name for place in users] == ["triton_autotune.py"]


def test_a_kind_of_a_later_version_is_shown_without_advice_of_ours() -> None:
    failure = Failure(error="E", message="m", kind="quantum", confidence="certain", because="why")
    info = GraphInfo(key="k", name="k", failure=failure, place=Place(file="t.py", line=3))
    app = create_app(Store([("one", Recording(Metadata(), [], [info]))]))
    content = shown(app, "/failures", "?recording=one")
    assert "Reason not known" in content
    assert "why" in content
    (first, _) = closing_lines(Recording(Metadata(), [], [info]))
    assert "t.py:3" in first


def test_many_failures_are_cut() -> None:
    infos = [
        GraphInfo(
            key=f"k{number}",
            name="k",
            failure=Failure(
                error="E",
                message="m",
                kind=list(kinds())[number % 5],
                place=Place(file="t.py", line=number),
            ),
        )
        for number in range(3000)
    ]
    recording = Recording(Metadata(), [], infos)
    assert len(closing_lines(recording)) == 7
    content = shown(create_app(Store([("m", recording)])), "/failures", "?view=k2999")
    assert content.count("analysis-item") <= 200
    assert "t.py:2999" in content


def test_the_graph_of_a_failed_capture_leads_to_the_reason(app: dash.Dash) -> None:
    content = shown(app, "/graph", "?recording=run&graph=train.py:bad_step%230")
    assert "This capture failed (" in content
    assert "/failures?recording=run&view=train.py:bad_step%230" in content


def test_the_details_of_a_failed_capture_name_kind_and_line(app: dash.Dash) -> None:
    key = "train.py:bad_step#0"
    text = details_at(app, page="graph", recording="run", graph=key)
    for part in ("Failure", "Reason not known", "train.py:88 in bad_step"):
        assert part in text


def test_work_that_is_not_in_a_graph_is_named() -> None:
    recording = synthetic.recording({"chain": synthetic.chain(3)}, failed=False)
    (info,) = recording.graphs.values()
    place = Place(file="train.py", line=7, function="step")
    info.left_out = [LeftOut(operator="aten.mul.Tensor", place=place, stream="0x5", times=3)]
    (line,) = closing_lines(recording)
    assert line.startswith("not in the graph: aten.mul.Tensor at train.py:7 on stream 0x5, 3 times")
    content = shown(create_app(Store([("r", recording)])), "/failures", "?recording=r")
    assert "aten.mul.Tensor at train.py:7 on stream 0x5, 3 times" in content
    assert "No capture failed" in content


def test_texts_of_a_megabyte_are_cut() -> None:
    long = "x" * 1_000_000
    failure = Failure(
        error=long,
        message=long,
        call=long,
        because=long,
        first_error=long,
        operator=long,
        thread=long,
        found_by=long,
        kind="host_sync",
        place=Place(file="t.py", line=3),
        stack=[Place(file="t.py", line=n) for n in range(100_000)],
        facts={"first": {"frames": [3, {"user": False}, None]}},
    )
    info = GraphInfo(key="k", name="k", failure=failure)
    recording = Recording(Metadata(), [], [info])
    app = create_app(Store([("m", recording)]))
    assert len(shown(app, "/failures", "?recording=m")) < 100_000
    assert len(shown(app, "/", "?recording=m")) < 100_000
    assert all(len(line) < 1000 for line in closing_lines(recording))
