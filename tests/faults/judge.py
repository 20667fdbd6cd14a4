"""Whether what was said of a script is what had to be said. Pure."""

from __future__ import annotations

from capture.analysis import Severity
from tests.faults.said import Heard, Named, Said
from tests.faults.scripts import Expected

ORDER = [str(severity) for severity in Severity]
"""The least severe first."""


def problems(heard: Heard, expected: Expected, file: str) -> list[str]:
    """Return what is missing or wrong in what was said of a faulty script.

    Parameters
    ----------
    heard : Heard
    expected : Expected
    file : str
        Name of the script, as lines are told with.
    """
    said = heard.of(expected.finding)
    if not said:
        reason = heard.absent.get(expected.finding, "it found nothing")
        return [f"{expected.finding} says nothing: {reason}"]
    found = []
    if max(ORDER.index(item.severity) for item in said) < ORDER.index(expected.severity):
        found.append(f"severity {said[0].severity}, expected {expected.severity} at least")
    found += _graphs(heard, said, expected)
    found += _nodes(said, expected)
    found += [
        f"{text!r} is not said"
        for text in expected.texts
        if not any(text in item.text for item in said)
    ]
    found += [
        f"line {line} is not told"
        for line in expected.told_lines
        if not any(f"{file}:{line} " in f"{item.text} " for item in said)
    ]
    return found


def _graphs(heard: Heard, said: list[Said], expected: Expected) -> list[str]:
    named = {item.graph for item in said}
    if expected.graph == "any":
        return []
    wanted = range(heard.graphs) if expected.graph == "each" else [int(expected.graph)]
    missing = [graph for graph in wanted if graph not in named]
    return [f"nothing is said of graphs {missing}, but of {sorted(named)}"] if missing else []


def _nodes(said: list[Said], expected: Expected) -> list[str]:
    def meant(node: Named) -> bool:
        at_line = any(line in expected.node_lines for line in node.lines)
        return at_line or node.type in expected.node_types

    if not expected.node_lines and not expected.node_types:
        return []
    named = {(item.graph, node.path): node for item in said for node in item.nodes}
    nodes = list(named.values())
    lines = {line for node in nodes for line in node.lines}
    found = [
        f"no node of line {line} is named" for line in expected.node_lines if line not in lines
    ]
    types = {node.type for node in nodes}
    found += [f"no {type_} is named" for type_ in expected.node_types if type_ not in types]
    if not expected.others:
        found += [
            f"node {node.path} ({node.label}) is named, which is none of those meant"
            for node in nodes
            if not meant(node)
        ]
    return found


def too_much(heard: Heard) -> list[str]:
    """Return what was said of a healthy twin: nothing may be."""
    return [f"{item.analysis} ({item.severity}): {item.text[:300]}" for item in heard.findings]
