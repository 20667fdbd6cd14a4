"""The verdict on an update in words: prediction, the driver's answer, what to set."""

from __future__ import annotations

import pytest

from capture.compare.answers import DriverAnswer
from capture.compare.settings import Setting
from capture.compare.update import UpdateVerdict, Violation
from graphviz_app.comparing.verdict_text import setting_rows, verdict_facts

BROKEN = Violation(rule="memset_dimensions", words="height is 3 before, 2 after", after="4")


def verdict(result: str, answer: DriverAnswer | None = None) -> UpdateVerdict:
    possible = result == "SUCCESS"
    violations = [] if possible else [BROKEN]
    return UpdateVerdict(possible=possible, result=result, violations=violations, answer=answer)


def test_an_answer_as_predicted_is_told_with_its_node_and_time() -> None:
    taken = DriverAnswer(
        result="SUCCESS", driver="580.1 (CUDA 13.0)", instantiate_ns=40_000, update_ns=3_000
    )
    facts = dict(verdict_facts(verdict("SUCCESS", taken)))
    assert facts["the driver says"] == (
        "SUCCESS, as predicted; the update took 3 µs, instantiate 40 µs (driver 580.1 (CUDA 13.0))"
    )
    refused = DriverAnswer(result="PARAMETERS_CHANGED", node="4")
    facts = dict(verdict_facts(verdict("PARAMETERS_CHANGED", refused)))
    assert facts["the driver says"] == "PARAMETERS_CHANGED at node 4, as predicted"
    assert "disagreement" not in facts


@pytest.mark.parametrize(
    ("predicted", "answered", "words"),
    [
        ("SUCCESS", "PARAMETERS_CHANGED", "its word counts"),
        ("PARAMETERS_CHANGED", "SUCCESS", "takes more than its documentation says"),
        ("PARAMETERS_CHANGED", "NOT_SUPPORTED", "both refuse"),
    ],
)
def test_a_disagreement_is_named(predicted: str, answered: str, words: str) -> None:
    facts = dict(verdict_facts(verdict(predicted, DriverAnswer(result=answered))))
    assert facts["the driver says"].startswith(f"{answered}, and not {predicted}")
    assert words in facts["disagreement"]


def test_why_the_driver_was_not_asked() -> None:
    unasked = verdict("SUCCESS")
    unasked.unasked = "it can be asked only where one process captured both graphs"
    assert dict(verdict_facts(unasked))["the driver"].startswith("was not asked: it can")


def test_many_nodes_that_are_set_alike_are_one_row() -> None:
    setting = Setting(
        call="cuGraphExecKernelNodeSetParams",
        fields=("dynamic_shared_bytes", "grid"),
        nodes=[str(number) for number in range(20)],
    )
    assert setting_rows([setting]) == [
        (
            "cuGraphExecKernelNodeSetParams",
            "0, 1, 2, 3, 4, 5 and 14 more",
            "dynamic shared, grid",
        )
    ]
