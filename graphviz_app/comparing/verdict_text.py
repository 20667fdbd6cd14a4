"""What the verdict on an update says to people: prediction, the driver's word, what to set."""

from __future__ import annotations

from capture.compare.answers import DriverAnswer
from capture.compare.settings import Setting, summary
from capture.compare.update import UpdateVerdict

from ..fields import label_text
from ..format import count_text, counted, duration_text

MOST_PATHS = 6


def verdict_facts(verdict: UpdateVerdict) -> list[tuple[str, str]]:
    """Return what is said of an update of the executable."""
    facts = [("cuGraphExecUpdate", prediction_text(verdict))]
    if verdict.answer is not None:
        facts.append(("the driver says", answer_text(verdict.answer, verdict.result)))
        if verdict.disputed:
            facts.append(("disagreement", _disagreement(verdict)))
    elif verdict.unasked:
        facts.append(("the driver", f"was not asked: {verdict.unasked}"))
    if verdict.swaps and verdict.possible:
        facts.append(
            (
                "beware",
                f"{counted(len(verdict.swaps), 'node')} would run another kernel: the driver does "
                f"not compare names",
            )
        )
    facts += [("instead", text) for text in verdict.instead]
    if verdict.possible and verdict.settings and not verdict.obstacles:
        facts.append(("or node by node", summary(verdict.settings)))
    return facts


def prediction_text(verdict: UpdateVerdict) -> str:
    """Return what is predicted, in words."""
    if verdict.possible:
        return "the driver would take it, by the documented rules"
    rules = list(dict.fromkeys(item.rule for item in verdict.violations))
    return (
        f"refused ({verdict.result}): {counted(len(verdict.violations), 'rule')} broken "
        f"({', '.join(rule.replace('_', ' ') for rule in rules)})"
    )


def answer_text(answer: DriverAnswer, predicted: str) -> str:
    """Return what the driver said, and whether that was predicted."""
    text = answer.result
    if answer.node:
        text += f" at node {answer.node}"
    if answer.from_node:
        text += f", whose dependency comes from node {answer.from_node}"
    text += ", as predicted" if answer.result == predicted else f", and not {predicted}"
    if answer.result == "SUCCESS" and answer.update_ns is not None:
        text += f"; the update took {duration_text(answer.update_ns)}"
        if answer.instantiate_ns is not None:
            text += f", instantiate {duration_text(answer.instantiate_ns)}"
    return f"{text} (driver {answer.driver})" if answer.driver else text


def _disagreement(verdict: UpdateVerdict) -> str:
    assert verdict.answer is not None
    taken = verdict.answer.result == "SUCCESS"
    if taken and not verdict.possible:
        return "the driver takes more than its documentation says; another version may not"
    if verdict.possible and not taken:
        return (
            "the driver refuses what no rule that was checked forbids: its word counts, see what "
            "could not be checked"
        )
    return "both refuse, for another reason: the driver tells the first that it meets"


def setting_rows(settings: list[Setting], rows: int | None = None) -> list[tuple[str, ...]]:
    """Return what would have to be set: call, nodes and fields."""
    return [
        (item.call, _paths(item.nodes), ", ".join(label_text(name) for name in item.fields))
        for item in (settings if rows is None else settings[:rows])
    ]


def _paths(nodes: list[str]) -> str:
    text = ", ".join(nodes[:MOST_PATHS])
    more = len(nodes) - MOST_PATHS
    return f"{text} and {count_text(more)} more" if more > 0 else text
