"""How a field of many graphs varies with their numbers."""

from __future__ import annotations

from typing import Any

import msgspec

MOST_SWITCHES = 12
"""Switches of a field that are told one by one."""
ROUNDING = 1
"""How far a value may lie from the line that others follow: launch dimensions are rounded up."""


class Variation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A field that differs from graph to graph, alike in some nodes.

    Attributes
    ----------
    field : str
    nodes : list of str
        Paths; equal in all graphs of the group.
    how : str
        ``"linear"``: within rounding of `slope` x number + `intercept`. ``"switches"``: another
        value from some numbers on. ``"varies"``: neither.
    slope, intercept : float
    switches : list of (number, value)
        The value from the smallest number on, then each number from which it is another one.
    distinct : int
        Different values.
    lowest, highest : object
        Values at the smallest and the largest number.
    what : str
        What these nodes are at the smallest number: kernels without their templates, or types.
    """

    field: str
    nodes: list[str]
    how: str
    slope: float = 0.0
    intercept: float = 0.0
    switches: list[tuple[int, Any]] = msgspec.field(default_factory=list)
    distinct: int = 0
    lowest: Any = None
    highest: Any = None
    what: str = ""


def variation(field: str, nodes: list[str], numbers: list[int], values: list[Any]) -> Variation:
    """Say how the values of a field follow numbers, which ascend."""
    found = Variation(field=field, nodes=nodes, how="varies", lowest=values[0], highest=values[-1])
    found.distinct = len(set(values))
    line = _line(numbers, values)
    if line is not None:
        found.how, (found.slope, found.intercept) = "linear", line
        return found
    switches = [(numbers[0], values[0])]
    for number, value in zip(numbers, values, strict=True):
        if value != switches[-1][1]:
            switches.append((number, value))
    if len(switches) <= min(MOST_SWITCHES, max(2, len(values) // 2)):
        found.how, found.switches = "switches", switches
    return found


def _line(numbers: list[int], values: list[Any]) -> tuple[float, float] | None:
    """Return slope and intercept of the line through both ends, if all lie on it."""
    if len(set(numbers)) < 3 or not all(isinstance(value, int) for value in values):
        return None
    if len(set(values)) > 2 and numbers[0] > 0 and values[-1] > 0:
        each = round(numbers[-1] / values[-1])
        if each > 1 and all(
            value == -(-number // each) for number, value in zip(numbers, values, strict=True)
        ):
            return 1 / each, 0.0
    slope = (values[-1] - values[0]) / (numbers[-1] - numbers[0])
    intercept = values[0] - slope * numbers[0]
    for number, value in zip(numbers, values, strict=True):
        if abs(value - (slope * number + intercept)) > ROUNDING:
            return None
    # A rounded constant and one step are no line.
    return (slope, intercept) if len(set(values)) > 2 else None
