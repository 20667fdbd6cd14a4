"""Checks of stored work outside graphs: rows and stacks refer to what is there."""

from __future__ import annotations

from .errors import FormatError
from .outside import Outside


def check(outside: Outside, where: str) -> None:
    """Check that indices lie in their tables.

    Raises
    ------
    FormatError
        One does not.
    """
    _within(outside.stack, -1, len(outside.stacks), f"{where}.stack", "stacks")
    for number, stack in enumerate(outside.stacks):
        _within(stack, 0, len(outside.frames), f"{where}.stacks[{number}]", "frames")


def _within(
    values: list[int] | tuple[int, ...], least: int, count: int, where: str, table: str
) -> None:
    if values and not (min(values) >= least and max(values) < count):
        wrong = next(value for value in values if not least <= value < count)
        raise FormatError(
            f"{where} holds {wrong}, expected {'-1 or ' if least else ''}a place among the "
            f"{count} {table}"
        )
