"""Declared arguments of analyses: typed, with defaults, parsed from text for command lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..errors import GraphLensError
from .units import Unit


class ArgumentKind(StrEnum):
    """Types of declared arguments."""

    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    FLAG = "flag"
    NODES = "nodes"
    """Positions in the subject's graph, as a list of integers; ``"3,7-9"`` as text."""


@dataclass(frozen=True)
class Argument:
    """A declared argument of an analysis.

    Attributes
    ----------
    name : str
        Keyword under which ``run`` takes it.
    kind : ArgumentKind
    default : object
        Value when it is not given; ``None`` means that it may be left out.
    description : str
    unit : Unit or None
    minimum : int or float, optional
        Smallest number that is accepted.
    """

    name: str
    kind: ArgumentKind
    default: Any
    description: str
    unit: Unit | None = None
    minimum: int | float | None = None

    def accept(self, value: object) -> Any:
        """Return a value as the analysis takes it, parsing text.

        Raises
        ------
        GraphLensError
            The value is not of this argument's kind.
        """
        if value is None and self.default is None:
            return None
        try:
            found = _PARSERS[self.kind](value)
        except (TypeError, ValueError, OverflowError):
            raise GraphLensError(
                f"argument {self.name!r} is {value!r}, expected {_EXPECTED[self.kind]}"
            ) from None
        if self.minimum is not None and found < self.minimum:
            raise GraphLensError(
                f"argument {self.name!r} is {value!r}, expected at least {self.minimum}"
            )
        return found


def rows_argument(what: str = "rows", default: int = 1000) -> Argument:
    """Return the argument of how many rows a table has at most.

    Parameters
    ----------
    what : str, optional
        What a row stands for, in the plural.
    default : int, optional
    """
    return Argument(
        "rows", ArgumentKind.INTEGER, default, f"most {what} in the table", Unit.COUNT, minimum=0
    )


_EXPECTED = {
    ArgumentKind.INTEGER: "a whole number",
    ArgumentKind.NUMBER: "a finite number",
    ArgumentKind.TEXT: "text",
    ArgumentKind.FLAG: "true or false",
    ArgumentKind.NODES: "positions of nodes, such as 3,7-9",
}
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_MAX_NODES = 10_000_000


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError
    return int(value)


def _number(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    number = float(value) if isinstance(value, str) else value
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError
    return number


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    try:
        return _FLAGS[_text(value).strip().lower()]
    except KeyError:
        raise ValueError from None


def _nodes(value: object) -> list[int]:
    if isinstance(value, str):
        found: list[int] = []
        for part in filter(None, (piece.strip() for piece in value.split(","))):
            first, dash, last = part.partition("-")
            end = int(last) if dash else int(first)
            if not 0 <= end - int(first) < _MAX_NODES:
                raise ValueError
            found.extend(range(int(first), end + 1))
        return sorted(set(found))
    if not isinstance(value, list | tuple | set | frozenset | range):
        raise TypeError
    return sorted({_integer(item) for item in value})


_PARSERS: dict[ArgumentKind, Callable[[object], Any]] = {
    ArgumentKind.INTEGER: _integer,
    ArgumentKind.NUMBER: _number,
    ArgumentKind.TEXT: _text,
    ArgumentKind.FLAG: _flag,
    ArgumentKind.NODES: _nodes,
}
