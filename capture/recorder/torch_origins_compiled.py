"""Modules and lines of the operators of a compiled graph, noted while torch compiles it.

The module that the compiler generates names the operators of the traced graph beside each launch,
but not their ``nn.Module``, and their lines only outside of partitions, which is where functions
are cut for CUDA graphs; the traced graph knows both, and is gone after compiling. So four
functions of the compiler are listened to: the one that hands a traced graph to a backend, the one
that starts to lower a graph, which is derived from it, and the one that loads a generated module.
A backward is lowered when it is first called: the number of the compilation says which function it
belongs to. A graph from the compiler's cache is not lowered; it is read where the cache gives it
out (:mod:`torch_origins_cached`). All do what they did.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .import_watch import after_import
from .replaced import ReplacedAttributes
from .torch_origins_cached import PRINTED, Names, Owner, names_printed

OUTPUT_GRAPH = "torch._dynamo.output_graph"
CODECACHE = "torch._inductor.codecache"
LOWERING = "torch._inductor.graph"
CACHED = "torch._inductor.output_code"
MAX_COMPILATIONS = 256
"""Of which names are kept for backwards that are not compiled yet."""
_HELD = re.compile(r"(.*)\._(?:parameters|buffers)\['[^']*'\]$")
_ITEM = re.compile(r"\._modules\['([^']*)'\]|\['([^']*)'\]|\[(\d+)\]")


class Compilations:
    """What was noted of compilations in this process.

    Attributes
    ----------
    names : dict of str to Names
        By file of the generated module.
    """

    def __init__(self) -> None:
        self.names: dict[str, Names] = {}
        self._of_compilation: dict[str, Names] = {}
        self._current = threading.local()
        self._replaced = ReplacedAttributes()

    def watch(self) -> None:
        """Listen to the compiler, once it is loaded."""
        after_import(OUTPUT_GRAPH, self._listen_to_graphs)
        after_import(LOWERING, self._listen_to_lowering)
        after_import(CODECACHE, self._listen_to_modules)
        after_import(CACHED, self._listen_to_cache)

    def _load(self, path: str) -> None:
        lowered, self._current.lowered = getattr(self._current, "lowered", None), None
        known = self._known()
        own = lowered or Names({}, {})
        printed, self._current.printed = getattr(self._current, "printed", ""), ""
        cached = names_printed(printed, known)
        # The traced graph's names come first: the cache's own are those of other graphs.
        names = Names(
            {**cached.owners, **known.owners, **own.owners},
            {**cached.traces, **known.traces, **own.traces},
        )
        if names.owners or names.traces:
            self.names[path] = names

    def stop(self) -> None:
        """Put the compiler's functions back, except where somebody else patched on top."""
        self._replaced.put_back()

    def _listen_to_graphs(self) -> None:
        kind = getattr(sys.modules.get(OUTPUT_GRAPH), "OutputGraph", None)
        if kind is None:
            return

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def call_user_compiler(graph: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
                with suppress(Exception):
                    self._keep(names_of(module))
                return original(graph, module, *args, **kwargs)

            return call_user_compiler

        self._replaced.replace(kind, "call_user_compiler", make)

    def _keep(self, names: Names) -> None:
        compilation = _compilation()
        if not compilation:
            return
        while len(self._of_compilation) >= MAX_COMPILATIONS:
            del self._of_compilation[next(iter(self._of_compilation))]
        self._of_compilation[compilation] = names

    def _known(self) -> Names:
        return self._of_compilation.get(_compilation(), Names({}, {}))

    def _listen_to_lowering(self) -> None:
        kind = getattr(sys.modules.get(LOWERING), "GraphLowering", None)
        if kind is None:
            return

        def make(original: Callable[..., None]) -> Callable[..., None]:
            def __init__(lowering: Any, module: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
                with suppress(Exception):
                    self._current.lowered = names_of(module, self._known())
                original(lowering, module, *args, **kwargs)

            return __init__

        self._replaced.replace(kind, "__init__", make)

    def _listen_to_cache(self) -> None:
        kind = getattr(sys.modules.get(CACHED), "CompiledFxGraph", None)
        if kind is None:
            return

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def after_deserialization(graph: Any, *args: Any, **kwargs: Any) -> Any:
                text = getattr(graph, PRINTED, "")
                self._current.printed = text if isinstance(text, str) else ""
                try:
                    return original(graph, *args, **kwargs)
                finally:
                    self._current.printed = ""

            return after_deserialization

        self._replaced.replace(kind, "after_deserialization", make)

    def _listen_to_modules(self) -> None:
        kind = getattr(sys.modules.get(CODECACHE), "PyCodeCache", None)
        if kind is None:
            return

        def make(original: Any) -> Any:
            function = original.__func__

            def load_by_key_path(cls: Any, key: str, path: str, *args: Any, **kwargs: Any) -> Any:
                with suppress(Exception):
                    self._load(path)
                return function(cls, key, path, *args, **kwargs)

            return classmethod(load_by_key_path)

        self._replaced.replace(kind, "load_by_key_path", make)


def names_of(module: Any, traced: Names | None = None) -> Names:
    """Return module and stack of each operator of a graph, by the operator's names.

    Parameters
    ----------
    module : GraphModule
        As traced, or derived from that.
    traced : Names, optional
        Of the traced graph, for operators of a backward, which name those of their forward.
    """
    known = traced or Names({}, {})
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    found = Names({}, {}, tuple(map(_holder, inputs)) if traced is None else ())
    for node in module.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        forward = [str(source[0]) for source in node.meta.get("fwd_source_fn_stack") or ()]
        owner = _owner(node) or _first(known.owners, forward)
        text = str(node.meta.get("stack_trace") or _first(known.traces, forward) or "")
        for name in [_printed(node)] if traced is not None else _names(node):
            if owner is not None:
                found.owners.setdefault(name, owner)
            if text:
                found.traces.setdefault(name, text)
    return found


def _owner(node: Any) -> Owner | None:
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return None
    key, (path, _) = list(stack.items())[-1]
    digits = str(key).partition("@")[0]
    return Owner(int(digits) if digits.isdecimal() else 0, clean(str(path)))


def _holder(node: Any) -> str | None:
    """Return the path of the module that holds an input of a traced graph."""
    source = getattr(node.meta.get("grapharg"), "source", None)
    name = getattr(source, "name", "")
    held = _HELD.match(str(name() if callable(name) else name))
    return clean(held[1]) if held else None


def _first(known: dict[str, Any], names: list[str]) -> Any:
    return next((known[name] for name in reversed(names) if name in known), None)


def _names(node: Any) -> list[str]:
    return [*(str(source[0]) for source in node.meta.get("source_fn_stack") or ()), node.name]


def _printed(node: Any) -> str:
    """Return the name that the compiler's comments give a node of the graph that it lowers."""
    earlier = node.meta.get("from_node")
    return str(earlier[0].name if earlier else node.name)


def _compilation() -> str:
    """Return the number of the compilation that goes on in this thread; empty for none."""
    context = getattr(sys.modules.get("torch._guards"), "CompileContext", None)
    number = context.current_compile_id() if context is not None else None
    return "" if number is None else str(number)


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
