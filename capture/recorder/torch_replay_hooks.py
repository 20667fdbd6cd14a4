"""Hooks around what becomes of a graph object, each made for the original that it calls."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import perf_counter_ns as clock
from typing import Any

from .session import Session

Method = Callable[..., Any]


def _instantiate(session: Session, original: Method) -> Method:
    def instantiate(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not session.active:
            return original(self, *args, **kwargs)
        session.expect_clones()
        start_ns = clock()
        try:
            result = original(self, *args, **kwargs)
        except BaseException:
            with suppress(BaseException):  # one is on its way already
                session.forget_clones()
            raise
        if session.active:
            try:
                session.instantiated(
                    self, start_ns, clock() - start_ns, "measured around instantiate"
                )
            except Exception as error:
                session.complain("instantiate", error)
        session.forget_clones()
        return result

    return instantiate


def _replay(session: Session, original: Method) -> Method:
    # Every replay of a recorded program passes here; tests/benchmarks/replay.py measures it.
    state_of = session.counted.get
    run = session.run

    def replay(self: Any) -> Any:
        state = state_of(id(self))
        if state is None or state is not run.state:
            return another(self)
        if state.plan is None:
            result = original(self)
        else:
            result = traced(state, self)
        state.replays += 1
        run.end_ns = now_ns = clock()
        if now_ns >= run.flush_ns:
            session.flush_quietly()
        return result

    def another(self: Any, *args: Any, **kwargs: Any) -> Any:
        state = state_of(id(self))
        planned = state is not None and state.plan is not None
        if not planned and session.tracer is not None:
            session.tracer.rest()
        if state is None:
            session.expect_clones()  # torch instantiates a kept graph when it is first replayed
        start_ns = clock()
        if planned:
            result = traced(state, self, *args, **kwargs)
        else:
            result = original(self, *args, **kwargs)
        if session.active:
            try:
                session.replayed(self, start_ns)
            except Exception as error:
                session.complain("replay", error)
        if state is None:
            session.forget_clones()
        return result

    def traced(state: Any, *args: Any, **kwargs: Any) -> Any:
        tracer = session.tracer
        if tracer is None:
            return original(*args, **kwargs)
        return tracer.replay(state, partial(original, *args, **kwargs))

    # A replay that takes arguments, in another torch or patched by others, gets the hook that
    # passes them on.
    return replay if _takes_nothing(original) else another


def _takes_nothing(method: Method) -> bool:
    code = getattr(method, "__code__", None)
    if code is None:
        return False
    variable = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    return not (code.co_flags & variable or code.co_kwonlyargcount or code.co_argcount != 1)


def _reset(session: Session, original: Method) -> Method:
    def reset(self: Any, *args: Any, **kwargs: Any) -> Any:
        if session.active:
            try:
                session.resetting(self)
            except Exception as error:
                session.complain("reset", error)
        result = original(self, *args, **kwargs)
        if session.active:
            try:
                session.was_reset(self, clock())
            except Exception as error:
                session.complain("reset", error)
        return result

    return reset


def _raw_cuda_graph_exec(session: Session, original: Method) -> Method:
    def raw_cuda_graph_exec(self: Any, *args: Any, **kwargs: Any) -> Any:
        if session.active:
            try:
                session.executable_taken(self, sys._getframe(1))
            except Exception as error:
                session.complain("raw_cuda_graph_exec", error)
        return original(self, *args, **kwargs)

    return raw_cuda_graph_exec


HOOKS = {
    "instantiate": _instantiate,
    "replay": _replay,
    "reset": _reset,
    "raw_cuda_graph_exec": _raw_cuda_graph_exec,
}
"""What makes the hook of each method: ``make(session, original)``."""
