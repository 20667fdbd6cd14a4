"""Paths of the modules whose forward is running, by identity of the module.

Modules are known by what ``named_modules`` of the outermost module around them says. Nothing of
the user's is kept alive.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NamedTuple

NO_MODULE = -1
MAX_DEPTH = 400
"""Frames that are looked at for an outermost module."""
WRAPPER = "_orig_mod"
"""Name under which ``torch.compile`` keeps the module that it was given."""


class Known(NamedTuple):
    """A module.

    Attributes
    ----------
    path : str
        Empty for an outermost module.
    class_name : str
    parent : int
        Index of the module that holds it; -1 for an outermost one.
    others : tuple of str
        Other paths of the same module.
    file : str
    line : int
        Where its class defines ``forward``.
    """

    path: str
    class_name: str
    parent: int
    others: tuple[str, ...]
    file: str
    line: int


class Modules:
    """Modules of this process that were seen running.

    Parameters
    ----------
    variable : callable
        ``variable(frame, name)`` returns a variable of a frame, ``None`` when it has none.
    is_module : callable
        Says whether an object is an ``nn.Module``.
    """

    def __init__(
        self, variable: Callable[[FrameType, str], Any], is_module: Callable[[Any], bool]
    ) -> None:
        self.known: list[Known] = []
        self._variable = variable
        self._is_module = is_module
        self._places: dict[int, tuple[weakref.ref[Any], int]] = {}

    def of(self, frame: FrameType) -> int:
        """Return the module that a frame of ``Module.__call__`` runs; -1 when it is none."""
        module = self._variable(frame, "self")
        found = self._places.get(id(module))
        if found is not None and found[0]() is module:
            return found[1]
        if not self._is_module(module):
            return NO_MODULE
        return self._adopt(module, frame)

    def reference(self, module: Any) -> weakref.ref[Any] | None:
        """Return the weak reference to a module that is known."""
        found = self._places.get(id(module))
        return found[0] if found is not None and found[0]() is module else None

    def by_identity(self, identity: int) -> int:
        """Return the module with an identity, if it is known and alive; else -1."""
        found = self._places.get(identity)
        return found[1] if found is not None and found[0]() is not None else NO_MODULE

    def _place(self, module: Any) -> int:
        found = self._places.get(id(module))
        return found[1] if found is not None and found[0]() is module else NO_MODULE

    def _adopt(self, module: Any, frame: FrameType) -> int:
        """Learn the names of the outermost module around a frame, and with it this one's."""
        around = list(self._around(frame))
        outermost = around[-1] if around else module
        if self._place(outermost) == NO_MODULE:
            self._learn(outermost)
        found = self._place(module)
        if found != NO_MODULE:
            return found
        # It is no child of the outermost one, such as one that a plain list holds.
        parent = next(
            (at for item in around[1:] if (at := self._place(item)) != NO_MODULE), NO_MODULE
        )
        above = self.known[parent].path if parent >= 0 else ""
        name = type(module).__name__
        self._learn(module, ".".join(filter(None, (above, f"<{name}>"))) if above else "", parent)
        return self._place(module)

    def _around(self, frame: FrameType | None) -> Iterator[Any]:
        """Yield the modules whose methods are on the stack, innermost first."""
        for _ in range(MAX_DEPTH):
            if frame is None:
                return
            names = frame.f_code.co_varnames
            if names and names[0] == "self":
                value = self._variable(frame, "self")
                if self._is_module(value):
                    yield value
            frame = frame.f_back

    def _learn(self, root: Any, path: str = "", parent: int = NO_MODULE) -> None:
        names: dict[int, list[str]] = {}
        found: dict[int, Any] = {}
        for name, module in root.named_modules(remove_duplicate=False):
            inner = ".".join(part for part in name.split(".") if part != WRAPPER)
            names.setdefault(id(module), []).append(inner)
            found[id(module)] = module
        places: dict[str, int] = {}
        for key, module in found.items():
            first, *others = names[key]
            if first in places:
                # The module that torch.compile wraps has its wrapper's place.
                place = places[first]
                if _is_wrapper(root, self.known[place].class_name):
                    self.known[place] = self._described(module, self.known[place])
            elif self._place(module) != NO_MODULE and module is not root:
                place = self._place(module)
            else:
                whole = ".".join(filter(None, (path, first)))
                above = first.rpartition(".")[0]
                up = parent if not first else places.get(above, places.get("", parent))
                place = len(self.known)
                entry = Known(whole, "", up, tuple(dict.fromkeys(others)), "", 0)
                self.known.append(self._described(module, entry))
            for name in names[key]:
                places.setdefault(name, place)
            self._places[key] = weakref.ref(module), place

    @staticmethod
    def _described(module: Any, entry: Known) -> Known:
        kind = type(module)
        code = getattr(getattr(kind, "forward", None), "__code__", None)
        return entry._replace(
            class_name=kind.__qualname__,
            file=getattr(code, "co_filename", ""),
            line=getattr(code, "co_firstlineno", 0),
        )


def _is_wrapper(root: Any, class_name: str) -> bool:
    return hasattr(root, WRAPPER) and class_name == type(root).__qualname__
