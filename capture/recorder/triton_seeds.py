"""Launches of Triton kernels whose random numbers depend on constants alone, inside a capture.

``tl.rand(seed, offsets)`` draws the same numbers for the same seed and offsets. A seed that is
passed as a number is stored in the graph; one that the kernel loads can be advanced. Which of the
two it is follows from the kernel's source and the launch.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

DRAWS = frozenset(
    ("rand", "randn", "randint", "rand4x", "randn4x", "randint4x", "philox", "philox_impl")
)
"""Functions of ``triton.language`` whose first argument is a seed."""
MOST_SOURCE = 200_000
"""Characters of a kernel's source that are read."""


class Draw(NamedTuple):
    """A call that draws random numbers."""

    parameters: frozenset[str]
    """Of the kernel, on which the seed depends."""
    literal: int | None
    """The seed, where it is written in the source."""


def draws_of(source: str) -> list[Draw]:
    r"""Return the draws of a kernel that nothing which is loaded has a part in.

    Examples
    --------
    >>> draws_of("def f(x, seed):\n    return tl.rand(seed, x)")
    [Draw(parameters=frozenset({'seed'}), literal=None)]
    >>> draws_of("def f(x, seed):\n    return tl.rand(tl.load(seed), x)")
    []
    """
    if len(source) > MOST_SOURCE:
        return []
    try:
        tree = ast.parse(textwrap.dedent(source))
    except (SyntaxError, ValueError, RecursionError):
        return []
    function = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), None)
    if function is None:
        return []
    arguments = function.args
    parameters = {
        item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    }
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        for target, value in _assignments(node):
            values.setdefault(target, []).append(value)
    found = []
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or _name(node.func) not in DRAWS:
            continue
        seed = node.args[0] if node.args else _keyword(node, "seed")
        if seed is None:
            continue
        loaded, names = _depends(seed, values, parameters)
        others = [*node.args[1:], *(item.value for item in node.keywords)]
        if loaded or any(_depends(item, values, parameters)[0] for item in others):
            continue
        literal = seed.value if isinstance(seed, ast.Constant) else None
        found.append(Draw(frozenset(names), literal if isinstance(literal, int) else None))
    return found


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            for part in parts:
                if isinstance(part, ast.Name):
                    yield part.id, node.value
    elif (
        isinstance(node, (ast.AugAssign, ast.AnnAssign))
        and isinstance(node.target, ast.Name)
        and node.value is not None
    ):
        yield node.target.id, node.value


def _depends(
    expression: ast.expr, values: Mapping[str, list[ast.expr]], parameters: set[str]
) -> tuple[bool, set[str]]:
    """Say whether anything loaded is part of an expression, and which parameters are."""
    names: set[str] = set()
    seen: set[str] = set()
    pending = [expression]
    while pending:
        for node in ast.walk(pending.pop()):
            # What another function returns may have been loaded.
            if isinstance(node, ast.Call) and _name(node.func) not in ARITHMETIC:
                return True, names
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                if node.id in parameters:
                    names.add(node.id)
                pending.extend(values.get(node.id, ()))
    return False, names


ARITHMETIC = frozenset(
    (
        *("program_id", "num_programs", "arange", "cdiv", "multiple_of", "max_contiguous"),
        *("minimum", "maximum", "where", "zeros", "full", "to", "cast", "int"),
        *("expand_dims", "broadcast_to"),
    )
)
"""Calls that load nothing."""


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((item.value for item in call.keywords if item.arg == name), None)


class SeedReader:
    """Reads launches of Triton kernels; what is known of a kernel's source is kept."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, list[Draw]]] = {}

    def draws(self, kernel: Any) -> list[Draw]:
        """Return the draws of a kernel that depend on constants and parameters alone."""
        known = self._known.get(id(kernel))
        if known is None:
            source = getattr(kernel, "src", None)
            draws = draws_of(source) if isinstance(source, str) and "rand" in source else []
            known = self._known[id(kernel)] = kernel, draws
        return known[1]

    def constant(
        self, kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[str, int | float] | None:
        """Return parameter and value of a seed that is a number in this launch, or ``None``."""
        draws = self.draws(kernel)
        if not draws:
            return None
        given = dict(zip(getattr(kernel, "arg_names", ()), args, strict=False)) | dict(kwargs)
        for draw in draws:
            numbers = {name: given.get(name) for name in sorted(draw.parameters)}
            if all(type(value) in (int, float) for value in numbers.values()):
                for name, value in numbers.items():
                    assert isinstance(value, int | float)
                    return name, value
                if draw.literal is not None:
                    return "", draw.literal
        return None
