"""How `cglens record` reads its command line; what it records is in tests/recorder."""

from __future__ import annotations

import pytest

from capture.measure_request import MeasureRequest
from graphviz_app import cli
from graphviz_app.commands import record

PLAIN = (None, False, False, "x.py", (), None)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    calls: list[tuple[object, ...]] = []

    def record_to(
        *arguments: object, variables: object, measure: object = None
    ) -> tuple[None, int, bool]:
        calls.append((*arguments, *filter(None, (variables, measure))))
        return None, 7, True

    monkeypatch.setattr(record, "record_to", record_to)
    return calls


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["x.py"], (None, False, False, "x.py", (), None)),
        (
            ["x.py", "-o", "y", "--force", "-m"],
            (None, False, False, "x.py", ("-o", "y", "--force", "-m"), None),
        ),
        (["-m", "pkg", "--help"], (None, False, True, "pkg", ("--help",), None)),
        (["--force", "x.py", "--", "-a"], (None, True, False, "x.py", ("--", "-a"), None)),
        (["m:f", ""], (None, False, False, "m:f", ("",), None)),
        (["--timings", "3", "x.py"], (None, False, False, "x.py", (), 3)),
        (["--store-sources", "x.py"], (*PLAIN, {"CGLENS_SOURCES": "1"})),
        (["--no-origins", "x.py"], (*PLAIN, {"CGLENS_ORIGINS": "0"})),
        (
            ["--writes", "x.py"],
            (*PLAIN, {"CGLENS_MEMORY": "1"}, MeasureRequest(bench=False, writes=True)),
        ),
    ],
)
def test_the_workloads_own_options_are_left_alone(
    asked: list[tuple[object, ...]], words: list[str], expected: tuple[object, ...]
) -> None:
    assert cli.main(["record", *words]) == 7
    assert asked == [expected]


@pytest.mark.parametrize("words", [[], ["--no-such-option", "x.py"], ["-o"]])
def test_wrong_usage_is_2(asked: list[tuple[object, ...]], words: list[str]) -> None:
    assert cli.main(["record", *words]) == 2
    assert asked == []
