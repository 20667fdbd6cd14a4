"""Modules and lines of the operators of a compiled graph, noted while torch compiles it.

The module that the compiler generates names the operators of the traced graph beside each launch,
but not their ``nn.Module``, and their lines only outside of partitions, which is where functions
are cut for CUDA graphs; the traced graph knows both, and is gone after compiling. So two
functions of the compiler are listened to: the one that hands a traced graph to a backend, and the
one that loads a generated module, which happens inside it. Both do what they did.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from .import_watch import after_import
from .replaced import ReplacedAttributes

OUTPUT_GRAPH = "torch._dynamo.output_graph"
CODECACHE = "torch._inductor.codecache"
_ITEM = re.compile(r"\._modules\['([^']*)'\]|\['([^']*)'\]|\[(\d+)\]")


class Owner(NamedTuple):
    """The module of an operator.

    Attributes
    ----------
    identity : int
        Of the module, 0 when it is not known; the module may be gone.
    path : str
        As the compiler names it, from the compiled function's own module.
    """

    identity: int
    path: str


class Compilations:
    """What was noted of compilations in this process.

    Attributes
    ----------
    owners : dict of str to (dict of str to Owner)
        By file of the generated module: modules by name of the operator.
    traces : dict of str to (dict of str to str)
        By file of the generated module: stacks as torch prints them, by name of the operator.
    """

    def __init__(self) -> None:
        self.owners: dict[str, dict[str, Owner]] = {}
        self.traces: dict[str, dict[str, str]] = {}
        self._current = threading.local()
        self._replaced = ReplacedAttributes()

    def watch(self) -> None:
        """Listen to the compiler, once it is loaded."""
        after_import(OUTPUT_GRAPH, self._listen_to_graphs)
        after_import(CODECACHE, self._listen_to_modules)

    def stop(self) -> None:
        """Put the compiler's functions back, except where somebody else patched on top."""
        self._replaced.put_back()

    def _listen_to_graphs(self) -> None:
        kind = getattr(sys.modules.get(OUTPUT_GRAPH), "OutputGraph", None)
        if kind is None:
            return

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def call_user_compiler(graph: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
                before = getattr(self._current, "noted", None)
                with suppress(Exception):
                    self._current.noted = owners_of(module), traces_of(module)
                try:
                    return original(graph, module, *args, **kwargs)
                finally:
                    self._current.noted = before

            return call_user_compiler

        self._replaced.replace(kind, "call_user_compiler", make)

    def _listen_to_modules(self) -> None:
        kind = getattr(sys.modules.get(CODECACHE), "PyCodeCache", None)
        if kind is None:
            return

        def make(original: Any) -> Any:
            function = original.__func__

            def load_by_key_path(cls: Any, key: str, path: str, *args: Any, **kwargs: Any) -> Any:
                noted = getattr(self._current, "noted", None)
                if noted:
                    self.owners[path], self.traces[path] = noted
                return function(cls, key, path, *args, **kwargs)

            return classmethod(load_by_key_path)

        self._replaced.replace(kind, "load_by_key_path", make)


def owners_of(module: Any) -> dict[str, Owner]:
    """Return the module of each operator of a traced graph, by the operator's name."""
    found: dict[str, Owner] = {}
    for node in module.graph.nodes:
        stack = node.meta.get("nn_module_stack")
        if not stack or node.op in ("placeholder", "output"):
            continue
        key, (path, _) = list(stack.items())[-1]
        digits = str(key).partition("@")[0]
        owner = Owner(int(digits) if digits.isdecimal() else 0, clean(str(path)))
        for name in _names(node):
            found.setdefault(name, owner)
    return found


def traces_of(module: Any) -> dict[str, str]:
    """Return the stack of each operator of a traced graph, as torch prints it, by its name."""
    found: dict[str, str] = {}
    for node in module.graph.nodes:
        text = node.meta.get("stack_trace")
        if text and node.op not in ("placeholder", "output"):
            for name in _names(node):
                found.setdefault(name, str(text))
    return found


def _names(node: Any) -> list[str]:
    return [*(str(source[0]) for source in node.meta.get("source_fn_stack") or ()), node.name]


def clean(path: str) -> str:
    """Return the compiler's name of a module as ``named_modules`` would give it.

    Examples
    --------
    >>> clean("L['self'].blocks[0].norm"), clean("L['self']._modules['out']"), clean("L['self']")
    ('blocks.0.norm', 'out', '')
    """
    path = re.sub(r"^L\['[^']*'\]", "", path)
    path = _ITEM.sub(lambda found: "." + next(part for part in found.groups() if part), path)
    return ".".join(part for part in path.split(".") if part and part != "_orig_mod")


COMPILATIONS = Compilations()
