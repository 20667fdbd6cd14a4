"""Acts once a module has been imported, whoever imports it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def after_import(name: str, act: Callable[[], None]) -> None:
    """Call a function once a module is there; at once if it is there already.

    What the function raises is swallowed: the import is somebody else's.
    """
    if name in sys.modules:
        with suppress(Exception):
            act()
        return
    sys.meta_path.insert(0, _Finder(name, act))


class _Finder:
    """Finds nothing itself: it gives the module's own spec a loader that tells when it is done."""

    def __init__(self, name: str, act: Callable[[], None]) -> None:
        self._name = name
        self._act = act

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the module's own spec, to be told when it has been executed."""
        if name != self._name:
            return None
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find is not None else None
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self._act)  # type: ignore[assignment]
                return spec
        return None


class _Loader:
    """Executes a module with its own loader, which it also puts back."""

    def __init__(self, own: Any, act: Callable[[], None]) -> None:
        self._own = own
        self._act = act

    def create_module(self, spec: ModuleSpec) -> Any:
        """Leave it to the module's own loader."""
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Execute, then act."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        module.__loader__ = self._own
        self._own.exec_module(module)
        with suppress(Exception):
            self._act()
