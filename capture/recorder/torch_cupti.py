"""Who holds CUPTI: taken for our tracing, and let go of before torch's profiler wants it.

One subscriber at a time is all that CUPTI allows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from ..errors import GraphLensError
from .cupti_library import MULTIPLE_SUBSCRIBERS, Cupti, CuptiError
from .replaced import ReplacedAttributes

_PROFILER_STARTS = ("_prepare_profiler", "_enable_profiler")


class Taken(NamedTuple):
    """What came of taking CUPTI: neither is there while CUDA has not been used."""

    cupti: Cupti | None
    reason: str
    """Why it cannot be had; empty when it was taken, or may be later."""


class ProfilerWatch:
    """Hears of torch's profiler being started, just before it is.

    Parameters
    ----------
    on_start : callable
        Called then, in the thread that starts it.
    """

    def __init__(self, on_start: Callable[[], None]) -> None:
        self._on_start = on_start
        self._replaced = ReplacedAttributes()

    def watch(self, profiler: Any) -> None:
        """Patch ``torch.autograd.profiler``."""
        for name in _PROFILER_STARTS:
            self._replaced.replace(profiler, name, self._before)

    def _before(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def start_profiler(*args: Any, **kwargs: Any) -> Any:
            with suppress(Exception):
                self._on_start()
            return original(*args, **kwargs)

        return start_profiler

    def stop(self) -> None:
        """Put the originals back, except where somebody else patched on top."""
        self._replaced.put_back()


def take(
    on_clone: Callable[[int, int], None],
    on_launch: Callable[[int], None],
    on_full: Callable[[], None],
    watch: ProfilerWatch,
) -> Taken:
    """Take CUPTI and watch for whoever wants it next; never raises.

    Parameters
    ----------
    on_clone, on_launch, on_full : callable
        See :class:`~capture.recorder.cupti_library.Cupti`.
    watch : ProfilerWatch
    """
    cupti: Cupti | None = None
    try:
        import torch
        from torch.autograd import profiler

        if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            return Taken(None, "")
        if getattr(profiler, "_is_profiler_enabled", False):
            return Taken(
                None, "a profiler of the script held CUPTI when the first graph was captured"
            )
        cupti = Cupti()
        cupti.subscribe(on_clone, on_launch)
        cupti.register(on_full)
        watch.watch(profiler)
        return Taken(cupti, "")
    except CuptiError as error:
        held = error.code == MULTIPLE_SUBSCRIBERS
        reason = (
            "somebody else holds CUPTI: a profiler such as nsys, ncu or torch.profiler"
            if held
            else f"CUPTI cannot be used: {error}"
        )
    except (GraphLensError, ImportError) as error:
        reason = str(error)
    except Exception as error:
        reason = f"CUPTI cannot be used: {type(error).__name__}: {error}"
    # Half taken is not ours: whoever comes later must find it free.
    watch.stop()
    if cupti is not None:
        with suppress(Exception):
            cupti.unsubscribe()
    return Taken(None, reason)
