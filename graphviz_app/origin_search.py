"""Search for nodes by where they come from: module, class, operator, source line and more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from capture.origin_index import OriginIndex

from .origin_text import base_name, inputs_text, module_text

FIELDS = (
    "module",
    "class",
    "operator",
    "inputs",
    "source",
    "phase",
    "autograd",
    "stream",
    "thread",
    "label",
)
_PLACE = re.compile(r"(.*):(\d{1,9})\Z")

Mask = NDArray[np.bool_]


class _Owned:
    """Values of nodes that may have several: which nodes have any of some values."""

    def __init__(self, values: Sequence[Sequence[int]]) -> None:
        self.count = len(values)
        lengths = np.fromiter(map(len, values), np.int64, self.count)
        self.owner = np.repeat(np.arange(self.count), lengths)
        self.value = np.fromiter(
            (value for several in values for value in several), np.int64, int(lengths.sum())
        )

    def having(self, wanted: Iterable[int]) -> Mask:
        found = np.zeros(self.count, np.bool_)
        found[self.owner[np.isin(self.value, list(wanted))]] = True
        return found


class OriginTerms:
    """Finds nodes by the fields of :data:`FIELDS`, and by words that are in any origin.

    Parameters
    ----------
    index : OriginIndex
    """

    def __init__(self, index: OriginIndex) -> None:
        self.index = index
        self._owned: dict[str, _Owned] = {}

    def _of(self, name: str, values: Callable[[], Sequence[Sequence[int]]]) -> _Owned:
        if name not in self._owned:
            self._owned[name] = _Owned(values())
        return self._owned[name]

    def _lines(self) -> _Owned:
        return self._of("lines", lambda: [charge.lines for charge in self.index.charges])

    def _operators(self) -> _Owned:
        return self._of("operators", lambda: self.index.node_operators)

    def _around(self) -> _Owned:
        def values() -> Sequence[Sequence[int]]:
            known: dict[tuple[int, ...], tuple[int, ...]] = {(): ()}
            for modules in self.index.node_modules:
                if modules not in known:
                    above = (line for at in modules for line in self.index.ancestors[at])
                    known[modules] = tuple(dict.fromkeys(above))
            return [known[modules] for modules in self.index.node_modules]

        return self._of("around", values)

    def match(self, field: str, value: str) -> Mask:
        """Return which nodes a term such as ``module:blocks.0`` finds, shape ``(n,)``.

        Parameters
        ----------
        field : str
            One of :data:`FIELDS`.
        value : str
            In lower case. ``#12`` is a module by its number, ``inputs:12`` an operator by its.
        """
        if field == "module":
            return self._around().having(self._modules(value))
        if field == "class":
            names = [module.class_name.lower() for module in self.index.modules]
            return self._around().having(_equal_or_in(value, names))
        if field == "operator":
            names = [name.lower() for name in self.index.operator_names]
            return self._operators().having(_equal_or_in(value, names))
        if field == "inputs":
            return self._inputs(value)
        if field == "source":
            return self._lines().having(self._places(value))
        if field == "phase":
            names = [name.lower() for name in ("no phase", "forward", "backward", "optimizer")]
            phases = np.maximum(np.asarray(self.index.column("phase"), np.int64), 0)
            return np.isin(phases, _equal_or_in(value, names))
        names = [name.lower() for name in self.index.origins.names]
        return np.isin(np.asarray(self.index.column(field)), _equal_or_in(value, names))

    def words(self, word: str) -> Mask:
        """Return which nodes have a word in a module's path, an operator or ``file:line``."""
        index = self.index
        modules = [at for at, module in enumerate(index.modules) if word in module.path.lower()]
        operators = [at for at, name in enumerate(index.operator_names) if word in name.lower()]
        if _PLACE.match(word):
            lines = self._places(word)
        else:
            lines = [at for at, line in enumerate(index.lines) if word in base_name(line.file)]
        own = self._of("modules", lambda: index.node_modules)
        return (
            own.having(modules) | self._operators().having(operators) | self._lines().having(lines)
        )

    def _modules(self, value: str) -> list[int]:
        modules = self.index.modules
        number = value.removeprefix("#")
        if number != value and number.isdecimal():
            return [int(number[:9])]
        exact = [at for at, module in enumerate(modules) if module.path.lower() == value]
        exact = exact or [
            at for at, module in enumerate(modules) if module_text(module).lower() == value
        ]
        return exact or [
            at for at, module in enumerate(modules) if value and value in module.path.lower()
        ]

    def _inputs(self, value: str) -> Mask:
        operators = self.index.origins.operators
        called = np.asarray(self.index.column("operator"), np.int64)
        if value.isdecimal():
            wanted = operators[int(value[:9])] if int(value[:9]) < len(operators) else None
            same = [at for at, operator in enumerate(operators) if operator == wanted]
        else:
            same = [
                at
                for at, operator in enumerate(operators)
                if value in inputs_text(operator).lower()
            ]
        return np.isin(called, same)

    def _places(self, value: str) -> list[int]:
        match = _PLACE.match(value)
        file, number = (match[1], int(match[2])) if match else (value, None)
        if not file:
            return []
        found = [
            (at, line.file.replace("\\", "/").lower())
            for at, line in enumerate(self.index.lines)
            if number is None or line.line == number
        ]
        file = file.replace("\\", "/")
        for fits in (
            lambda name: name == file,
            lambda name: name.endswith(f"/{file}"),
            lambda name: file in name,
        ):
            exact = [at for at, name in found if fits(name)]
            if exact:
                return exact
        return []


def _equal_or_in(value: str, names: Sequence[str]) -> list[int]:
    exact = [at for at, name in enumerate(names) if name == value]
    return exact or [at for at, name in enumerate(names) if value and value in name]
