"""Signs that a source file is no longer what it was when the recording was made."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from capture.origin_index import Line

NAMELESS = ("<module>", "<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "")
"""Functions that are not checked: what they stand in does not have their name."""


def changes(lines: Sequence[str], recorded: Iterable[Line]) -> list[str]:
    """Return what recorded lines say that a text does not, as sentences; empty if they fit.

    Parameters
    ----------
    lines : sequence of str
        The file as it is now.
    recorded : iterable of Line
        Lines of the recording in this file.

    Notes
    -----
    A line that fits may have changed all the same: only numbers and functions are compared.
    """
    recorded = list(recorded)
    past = max((line.line for line in recorded), default=0)
    if past > len(lines):
        return [f"The recording names line {past}, and the file now has {len(lines)} lines."]
    functions = _functions(lines)
    if functions is None:
        return []
    moved = [
        line
        for line in recorded
        if (name := line.function.rpartition(".")[2]) not in NAMELESS
        and name not in functions.get(line.line, {name})
    ]
    if not moved:
        return []
    first = moved[0]
    more = f" (and {len(moved) - 1} more)" if len(moved) > 1 else ""
    now = ", ".join(sorted(functions[first.line])) or "no function"
    return [f"Line {first.line} was in {first.function}, and is now in {now}{more}."]


def _functions(lines: Sequence[str]) -> dict[int, set[str]] | None:
    """Return the names of the functions around each line; ``None`` for a text that is no Python."""
    try:
        tree = ast.parse("\n".join(lines) + "\n")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: dict[int, set[str]] = {at: set() for at in range(1, len(lines) + 1)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            for at in range(first, (node.end_lineno or node.lineno) + 1):
                found.setdefault(at, set()).add(node.name)
    return found
