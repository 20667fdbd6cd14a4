"""Kinds of failure: complete, found by the registry, right about what the driver really said."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from typing import Any

import msgspec
import pytest

from capture.failures import (
    Confidence,
    Facts,
    FailureKind,
    Frame,
    Match,
    Raised,
    classify,
    kind_of,
    kinds,
)
from capture.failures.error_codes import CODES, code_of
from capture.failures.facts import called
from tests.failures.scripts import HERE, silent, zoo

REFUSED = "CUDA error: operation not permitted when stream is capturing"
PREVIOUS = "CUDA error: operation failed due to a previous error during capture"
REPORT = HERE / "report.json"


def at(call: str, instruction: str = "CALL", *inner: tuple[str, str]) -> tuple[Frame, ...]:
    """Return frames: of libraries, then of the line that called them."""
    below = [Frame(file, 1, function, user=False) for file, function in inner]
    return (*below, Frame("/home/me/train.py", 12, "step", True, call, instruction))


def facts(message: str, frames: tuple[Frame, ...] = (), **fields: Any) -> Facts:
    error = fields.pop("error", "torch.AcceleratorError")
    thread = fields.pop("raised_in", "MainThread")
    raised = Raised(error, message, code_of(message), thread, frames)
    fields = {"status": "invalidated", "mode": "global", "thread": "MainThread"} | fields
    return Facts(first=raised, surfaced=fields.pop("surfaced", raised), **fields)


@pytest.mark.parametrize("name", kinds())
def test_every_kind_says_what_it_means_and_what_to_do(name: str) -> None:
    kind = kind_of(name)
    assert kind.title
    assert "." not in kind.title
    assert kind.meaning.endswith(".")
    assert kind.advice
    for text in (kind.meaning, *kind.advice):
        assert text.count("`") % 2 == 0, text
        assert text[-1] in ".`", text
    assert kind.documentation.startswith("https://")


def test_titles_are_different() -> None:
    titles = [kind.title for kind in kinds().values()]
    assert len(set(titles)) == len(titles)


def test_the_zoo_is_whole() -> None:
    scripts = zoo()
    assert len(scripts) >= 24
    assert {script.kind for script in scripts} <= set(kinds())
    # not_ended has no error to surface: the recorder's tests have it.
    assert set(kinds()) - {script.kind for script in scripts} <= {"not_ended"}
    assert all(script.left_out for script in silent())


def recorded() -> list[Any]:
    """Return what was seen of each script on a real GPU."""
    document = json.loads(REPORT.read_text(encoding="utf-8"))
    return [pytest.param(entry, id=name) for name, entry in document["scripts"].items()]


@pytest.mark.parametrize("entry", recorded())
def test_what_the_driver_really_said_is_judged_right(entry: dict[str, Any]) -> None:
    verdict = classify(msgspec.convert(entry["facts"], Facts))
    assert verdict.kind == entry["expected"]["kind"], verdict
    assert verdict.confidence in ("certain", "likely")


def test_the_report_is_of_this_zoo_and_right() -> None:
    document = json.loads(REPORT.read_text(encoding="utf-8"))
    entries = document["scripts"]
    scripts = {script.name: script for script in zoo()}
    assert set(entries) <= set(scripts)
    assert len(entries) >= 50
    for name, entry in entries.items():
        expected = scripts[name].kind, scripts[name].line
        assert (entry["kind"], entry["line"]) == expected, name


CASES: list[tuple[str, Facts]] = [
    ("host_sync", facts(REFUSED, at("loss.item()"))),
    ("host_sync", facts(REFUSED, at("x > 0", "POP_JUMP_IF_FALSE"))),
    ("host_sync", facts(REFUSED, at("f'{loss}'", "FORMAT_SIMPLE"))),
    ("host_sync", facts(REFUSED, at("f(x)"), broke_in="aten._local_scalar_dense.default")),
    ("pageable_copy", facts(REFUSED, at("x.to('cuda')"))),
    ("other_stream", facts(REFUSED, at("x * 2", "BINARY_OP"), outside="aten.mul.Tensor")),
    ("host_sync", facts(REFUSED, at("x.item()"), outside="aten._local_scalar_dense.default")),
    ("allocation", facts(REFUSED, at("lib.cudaMalloc(4)"))),
    ("other_thread", facts(REFUSED, at("event.query()"), raised_in="watchdog")),
    ("out_of_memory", facts("CUDA out of memory.", error="torch.OutOfMemoryError")),
    (
        "lazy_load",
        facts(REFUSED, at("f(x)", "CALL", ("/p/triton/runtime/autotuner.py", "_bench"))),
    ),
    ("nested_capture", facts(REFUSED, at("g()", "CALL", ("/p/torch/cuda/graphs.py", "__enter__")))),
    ("not_ended", facts("it was reset", error="CaptureNotEnded", stage="never ended")),
    ("own_error", facts("expected 3", at("raise"), error="ValueError", status="active")),
]


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_made_up_evidence(kind: str, case: Facts) -> None:
    assert classify(case).kind == kind


def test_what_fits_nothing_is_unknown_and_says_what_it_could_be() -> None:
    verdict = classify(facts(REFUSED, at("model(x)")))
    assert (verdict.kind, verdict.confidence) == ("unknown", "")
    assert "host_sync" in verdict.alternatives
    verdict = classify(facts(PREVIOUS, stage="end"))
    assert (verdict.kind, verdict.alternatives) == ("unknown", ["unreported"])


def test_a_refused_call_that_nobody_reported() -> None:
    case = facts(PREVIOUS, at("y + 1"), watched=True, after="train.py:9")
    verdict = classify(case)
    assert (verdict.kind, verdict.confidence) == ("unreported", "likely")
    assert "after train.py:9" in verdict.because


def test_other_threads_are_not_blamed_for_being_alive() -> None:
    idle = ("loader", (Frame("/usr/lib/python3.12/threading.py", 1, "wait", False),))
    busy = ("loader", (Frame("/p/torch/cuda/streams.py", 1, "query", False),))
    ended = {"stage": "end", "watched": True}
    assert classify(facts(PREVIOUS, others=(idle,), **ended)).kind == "unreported"
    verdict = classify(facts(PREVIOUS, others=(idle, busy), **ended))
    assert (verdict.kind, verdict.confidence) == ("other_thread", "likely")
    assert verdict.alternatives == ["unreported"]
    relaxed = classify(facts(PREVIOUS, others=(busy,), mode="relaxed", **ended))
    assert relaxed.kind == "unreported"


def test_an_error_of_autograds_thread_is_the_captures_own() -> None:
    assert classify(facts(REFUSED, at("g.item()"), raised_in="Dummy-1")).kind == "host_sync"


def test_frames_above_the_users_line_say_nothing_about_it() -> None:
    line = Frame("/home/me/model.py", 3, "forward", True, "x.item()", "CALL")
    above = Frame("/p/torch/_dynamo/convert_frame.py", 1, "compile", user=False)
    assert classify(facts(REFUSED, (line, above))).kind == "host_sync"


@pytest.mark.parametrize(("code", "texts"), CODES.items())
def test_codes_are_found_by_name_and_by_text(code: int, texts: tuple[str, str]) -> None:
    name, text = texts
    assert code_of(f"CUDA error: {text}") == code
    assert code_of(f"Search for `{name}' in https://docs") == code
    if code != 2:
        assert code_of(f"{text} ({code})") == code


def test_a_host_that_is_out_of_memory_is_no_error_of_cuda() -> None:
    assert code_of("std::bad_alloc: out of memory") is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("f(g(x)).item()", "item"),
        ("float(x)", "float"),
        ("x[f(1)]", ""),
        ("(a, b)", ""),
        ("f((", ""),
        (")", ""),
        ("", ""),
    ],
)
def test_what_an_expression_calls(text: str, name: str) -> None:
    assert called(text) == name


def test_a_kind_of_another_distribution_judges_too(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("tape", "tests.failures.test_kinds:TAPE", "cudagraph_lens.failures")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])
    kinds.cache_clear()
    try:
        assert classify(facts("tape is full", error="TapeError")).kind == "tape"
        assert classify(facts("", error="Broken")).kind != "tape"
    finally:
        kinds.cache_clear()


def _full(facts: Facts) -> Match:
    if facts.first.error == "Broken":
        raise ZeroDivisionError
    full = facts.first.error == "TapeError"
    return Match(Confidence.CERTAIN if full else Confidence.NONE)


TAPE = FailureKind("tape", "Tape", "It is full.", ("Change it.",), "https://example.org", _full)
