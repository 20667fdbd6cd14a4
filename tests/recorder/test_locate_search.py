"""The search for a guilty node, over made-up outcomes."""

from __future__ import annotations

import pytest

from capture.locate_request import Answer
from capture.recorder.locate_children import Ended, outcome_of
from capture.recorder.locate_search import Attempt, Found, Outcome, search


def attempts(walk: Outcome, bad_from: int, tried: list[tuple[str, int]]) -> Attempt:
    """Answer a walk as given, and prefixes of `bad_from` nodes and more with a fault."""

    def attempt(step: str, prefix: int) -> Outcome:
        tried.append((step, prefix))
        if step == "walk":
            return walk
        return Outcome("fault" if prefix >= bad_from else "clean")

    return attempt


def found(walk: Outcome, bad_from: int, count: int = 100) -> tuple[Found, list[tuple[str, int]]]:
    tried: list[tuple[str, int]] = []
    return search(count, attempts(walk, bad_from, tried)), tried


@pytest.mark.parametrize("guilty", [0, 1, 57, 99])
def test_a_walk_and_prefixes_that_agree_decide(guilty: int) -> None:
    result, tried = found(Outcome("fault", guilty), guilty + 1)
    assert (result.place, result.decided) == (guilty, True)
    assert tried[1:] == [("prefix", guilty + 1), ("prefix", guilty)][: 2 if guilty else 1]
    assert result.notes == []


@pytest.mark.parametrize("guilty", [0, 41, 99])
def test_what_only_happens_at_once_is_bisected(guilty: int) -> None:
    result, tried = found(Outcome("clean"), guilty + 1)
    assert (result.place, result.decided) == (guilty, False)
    assert len(tried) <= 10
    assert "same time" in result.notes[0]


def test_a_walk_that_points_at_a_later_node_is_corrected() -> None:
    result, tried = found(Outcome("fault", 60), 31)
    assert (result.place, result.decided) == (30, False)
    assert len(tried) <= 10
    assert "number 61" in result.notes[0]
    assert "number 31" in result.notes[0]


def test_a_walk_that_points_at_an_earlier_node_is_corrected() -> None:
    result, _ = found(Outcome("hang", 3), 31)
    assert (result.place, result.decided) == (30, False)


def test_what_does_not_happen_again_is_not_decided() -> None:
    result, tried = found(Outcome("clean"), 1000)
    assert (result.place, result.decided) == (None, False)
    assert tried == [("walk", 0), ("prefix", 100)]
    assert "does not happen every time" in result.notes[0]
    alone, _ = found(Outcome("fault", 5), 1000)
    assert (alone.place, alone.decided) == (5, False)
    assert "one by one this node is not" in alone.notes[0]


def test_a_search_that_runs_out_says_between_which_nodes() -> None:
    tried: list[tuple[str, int]] = []
    result = search(100, attempts(Outcome("clean"), 31, tried), most_runs=4)
    assert tried == [("walk", 0), ("prefix", 100), ("prefix", 50), ("prefix", 25)]
    assert not result.decided
    assert "search stopped: 4 runs" in result.notes[-2]
    assert "number 26 to 50" in result.notes[-1]


@pytest.mark.parametrize("what", ["lost", "refused", "outside"])
def test_a_run_that_says_nothing_ends_the_search(what: str) -> None:
    result = search(9, lambda step, prefix: Outcome(what, detail="because"))
    assert (result.place, result.decided) == (None, False)
    assert result.runs[0].what == what
    assert "because" in result.notes[0]


def ended(*answers: Answer, code: int = 0, killed: str = "", tail: str = "") -> Ended:
    return Ended(list(answers), code, killed, tail, 12)


START, NODE = Answer(event="start"), Answer(event="node", node=7)
PLACES = {7: 2}


@pytest.mark.parametrize(
    ("how", "what", "place", "words"),
    [
        (ended(START, NODE, code=-11), "died", 2, "SIGSEGV"),
        (ended(START, NODE, killed="it did not answer"), "hang", 2, "did not answer"),
        (ended(START, code=3), "died", -1, "exit code 3"),
        (ended(code=1, tail="a\nValueError: no"), "lost", -1, "ValueError: no"),
        (
            ended(START, NODE, Answer(event="outcome", what="fault", node=7, detail="700")),
            "fault",
            2,
            "700",
        ),
        (
            ended(Answer(event="captured", order="other"), START, NODE),
            "lost",
            -1,
            "another one this time",
        ),
    ],
)
def test_how_a_child_ended(how: Ended, what: str, place: int, words: str) -> None:
    outcome = outcome_of(how, PLACES, "this")
    assert (outcome.what, outcome.place) == (what, place)
    assert words in outcome.detail
