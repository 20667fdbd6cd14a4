"""Checks of stored origins: indices lie in their tables, and modules after their parents."""

from __future__ import annotations

from .errors import InvalidGraphError
from .origins import PHASES, Origins

_TABLE_OF = {
    "stack": "stacks",
    "operator": "operators",
    "module": "modules",
    "autograd": "names",
    "forward": "stacks",
    "stream": "names",
    "thread": "names",
    "label": "names",
    "compiled": "compiled_kernels",
}


def check(origins: Origins, where: str) -> None:
    """Check that indices lie in their tables.

    Raises
    ------
    InvalidGraphError
        One does not.
    """
    for column, table in _TABLE_OF.items():
        _within(getattr(origins, column), len(getattr(origins, table)), f"{where}.{column}", table)
    _within(origins.phase, len(PHASES), f"{where}.phase", "phases")
    frames, stacks = len(origins.frames), len(origins.stacks)
    for number, stack in enumerate(origins.stacks):
        if stack and not (min(stack) >= 0 and max(stack) < frames):
            raise InvalidGraphError(
                f"{where}.stacks[{number}] names a frame that is not among the {frames} frames"
            )
    for number, module in enumerate(origins.modules):
        if not -1 <= module.parent < number:
            raise InvalidGraphError(
                f"{where}.modules[{number}] has parent {module.parent}, expected one before it "
                f"or -1"
            )
    for number, compiled in enumerate(origins.compiled_kernels):
        if any(not 0 <= stack < stacks for stack in compiled.stacks):
            raise InvalidGraphError(
                f"{where}.compiled_kernels[{number}] names a stack that is not among the "
                f"{stacks} stacks"
            )


def _within(values: list[int], count: int, where: str, table: str) -> None:
    if values and not (min(values) >= -1 and max(values) < count):
        row = next(i for i, value in enumerate(values) if not -1 <= value < count)
        raise InvalidGraphError(
            f"{where} has {values[row]} in row {row}, expected -1 or a place among the {count} "
            f"{table}"
        )
