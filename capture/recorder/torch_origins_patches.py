"""What is patched while captures are watched, and put back afterwards.

- The two functions of torch's compiler between which a thread looks at guards: the dispatch key
  that operators are seen from is off there, see :mod:`capture.recorder.torch_origins`.
- Entering and leaving a mode of fake tensors, inside which the key is off: there nothing is
  launched.
- ``run`` of Triton's kernels, the user's and those that torch's compiler wrote: they are launched
  by no operator.
- NVTX ranges, which are labels.

Nothing is imported for it: what the script has not loaded, it does not use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any

from .origins import labels
from .origins.log import Launch
from .replaced import ReplacedAttributes
from .torch_notices import NOTICES

if TYPE_CHECKING:
    from .torch_origins import Watcher

EVAL_FRAME = "torch._dynamo.eval_frame"
FOLLOWED = "_maybe_set_eval_frame"
"""What torch's compiler calls when a thread begins or ceases to look at frames."""
FAKE_TENSOR = "torch._subclasses.fake_tensor"
TRITON = "triton.runtime.jit"
AUTOTUNER = "torch._inductor.runtime.triton_heuristics"
NVTX = "torch.cuda.nvtx"


def obstacle() -> str:
    """Return why captures must not be watched in this process; empty when they may be."""
    compiler = sys.modules.get(EVAL_FRAME)
    if compiler is None or hasattr(compiler, FOLLOWED):
        return ""
    return f"the compiler of this torch has no {FOLLOWED}: it would compile again in a capture"


class Patches:
    """Attributes of other modules, replaced for a while."""

    def __init__(self) -> None:
        self._replaced = ReplacedAttributes()
        self._launches: dict[int, tuple[Any, Launch]] = {}
        self._finder: _Finder | None = None

    def install(self, watcher: Watcher) -> None:
        """Patch what is loaded; never raises."""
        try:
            compiler, fake = sys.modules.get(EVAL_FRAME), sys.modules.get(FAKE_TENSOR)
            if compiler is None or fake is None:
                self._finder = _Finder(watcher)
                sys.meta_path.insert(0, self._finder)
            if compiler is not None:
                self._replaced.replace(
                    compiler, "_is_skip_guard_eval_unsafe_stance", _pausing(watcher)
                )
                self._replaced.replace(compiler, FOLLOWED, _following(watcher))
            mode = getattr(fake, "FakeTensorMode", None)
            if mode is not None:
                self._replaced.replace(mode, "__enter__", _entering(watcher))
                self._replaced.replace(mode, "__exit__", _leaving(watcher))
            for module, name, describe in (
                (TRITON, "JITFunction", _of_triton),
                (AUTOTUNER, "CachingAutotuner", _of_compiler),
            ):
                kind = getattr(sys.modules.get(module), name, None)
                if kind is not None:
                    self._replaced.replace(kind, "run", self._launching(watcher, describe))
            nvtx = sys.modules.get(NVTX)
            if nvtx is not None:
                self._replaced.replace(nvtx, "_nvtx", _Ranges)
        except Exception as error:
            for watched in list(watcher.open.values()):
                watched.failed(error)

    def remove(self) -> None:
        """Put everything back, except where somebody else patched on top."""
        self._replaced.put_back()
        self._launches.clear()
        if self._finder is not None and self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        self._finder = None

    def _launching(
        self, watcher: Watcher, describe: Callable[[Any], Launch]
    ) -> Callable[[Any], Any]:
        launches = self._launches

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
                try:
                    known = launches.get(id(kernel))
                    if known is None:
                        known = launches[id(kernel)] = kernel, describe(kernel)
                except Exception:
                    return original(kernel, *args, **kwargs)
                if describe is _of_triton:
                    NOTICES.launched(kernel, args, kwargs, sys._getframe(1))
                call = partial(original, kernel, *args, **kwargs)
                return watcher.note_launch(known[1], sys._getframe(0).f_back, call)

            return run

        return make


def _pausing(watcher: Watcher) -> Callable[[Any], Any]:
    """Switch the key off before a function that others call just before they look at it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def pausing(*args: Any) -> Any:
            _pause(watcher)
            return original(*args)

        return pausing

    return make


def _entering(watcher: Watcher) -> Callable[[Any], Any]:
    """Switch the key off before a mode of fake tensors is entered, and count those."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def enter(mode: Any) -> Any:
            _pause(watcher)
            result = original(mode)
            _deeper(watcher)
            return result

        return enter

    return make


def _leaving(watcher: Watcher) -> Callable[[Any], Any]:
    """Switch the key on again after the outermost mode of fake tensors was left."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def leave(mode: Any, *args: Any) -> Any:
            try:
                return original(mode, *args)
            finally:
                _higher(watcher)

        return leave

    return make


def _following(watcher: Watcher) -> Callable[[Any], Any]:
    """Have the key off while frames are looked at, and on while compiled code runs."""

    def make(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def set_eval_frame(callback: Any) -> Any:
            looking = callback is not None and callback is not False
            if looking:
                _pause(watcher)
            result = original(callback)
            if not looking:
                _resume(watcher)
            return result

        return set_eval_frame

    return make


def _deeper(watcher: Watcher) -> None:
    here = get_ident()
    watcher.nested[here] = watcher.nested.get(here, 0) + 1


def _higher(watcher: Watcher) -> None:
    """Switch the key on again where the outermost of several reasons to have it off has ended."""
    here = get_ident()
    watcher.nested[here] = max(0, watcher.nested.get(here, 0) - 1)
    _resume(watcher)


def _pause(watcher: Watcher) -> None:
    if watcher.is_on(watcher.key):
        watcher.switch(watcher.key, False)
        watcher.paused.add(get_ident())


def _resume(watcher: Watcher) -> None:
    here = get_ident()
    if here in watcher.paused and not watcher.nested.get(here) and not _compiling():
        watcher.paused.discard(here)
        if watcher.open:
            watcher.switch(watcher.key, True)


def _compiling() -> bool:
    guards = sys.modules.get("torch._guards")
    return guards is not None and guards.CompileContext.try_get() is not None


def _of_triton(kernel: Any) -> Launch:
    code = kernel.fn.__code__
    return Launch(
        kernel.fn.__name__,
        "triton",
        code.co_filename,
        code.co_firstlineno,
        code.co_qualname,
        _parameters(kernel),
    )


def _of_compiler(kernel: Any) -> Launch:
    meta = getattr(kernel, "inductor_meta", None) or {}
    name = meta.get("kernel_name") or getattr(kernel.fn, "__name__", "")
    file = str(getattr(kernel, "filename", "") or "")
    return Launch(str(name), "inductor", file, parameters=_parameters(kernel.fn))


def _parameters(function: Any) -> tuple[str, ...]:
    """Return the names of a Triton function's parameters that are no constants."""
    return tuple(
        str(parameter.name)
        for parameter in getattr(function, "params", None) or ()
        if not getattr(parameter, "is_constexpr", False)
    )


class _Ranges:
    """NVTX as torch calls it, followed by our labels."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def rangePushA(self, message: str) -> Any:  # noqa: N802 - NVTX's name
        """Begin a range."""
        labels.stack().append(str(message))
        return self._original.rangePushA(message)

    def rangePop(self) -> Any:  # noqa: N802 - NVTX's name
        """End the innermost range."""
        names = labels.stack()
        if names:
            names.pop()
        return self._original.rangePop()


class _Finder:
    """Hears of what is patched above being loaded in the middle of a capture; finds nothing."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Switch the key off for good: guards could not be told apart any more."""
        if name in (EVAL_FRAME, FAKE_TENSOR) and self._watcher.is_on(self._watcher.key):
            self._watcher.switch(self._watcher.key, False)
            for watched in list(self._watcher.open.values()):
                watched.problem = watched.problem or (
                    f"{name} was first used inside this capture, and operators after that were "
                    f"not recorded"
                )


PATCHES = Patches()
