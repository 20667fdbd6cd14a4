"""Hooks around the begin and the end of a capture, each made for the original that it calls."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter_ns as clock
from typing import Any

from . import memory_watch
from .causes import chain, raised, raised_at
from .error_watch import listening
from .open_capture import OpenCapture
from .origins import labels
from .places import current_exception, locate
from .session import Session
from .torch_origins_reading import hide_from_compiler

Method = Callable[..., Any]


def _capture_begin(session: Session, original: Method) -> Method:
    def capture_begin(self: Any, *args: Any, **kwargs: Any) -> Any:
        memory = None
        if session.active:
            # Whatever opening the driver takes must not happen inside a capture.
            with suppress(Exception):
                session.driver()
                if session.tracer is not None:
                    session.tracer.prepare()
                if session.origin_source is not None:
                    session.origin_source.prepare()
                if not session.errors.hidden:
                    session.errors.hidden = True
                    hide_from_compiler(*listening())
                memory = memory_watch.look_before(session)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            if session.active:
                _not_begun(session, self, error, args, kwargs)
            raise
        if session.active:
            begin_ns = clock()
            try:
                capture = _opened(session, self, begin_ns, args, kwargs)
                capture.memory = memory
                session.began(self, capture)
                session.watch(capture, sys._getframe(1))
            except Exception as error:
                session.complain("capture_begin", error)
        return result

    return capture_begin


def _not_begun(
    session: Session,
    graph: Any,
    error: BaseException,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    try:
        thread = threading.current_thread().name
        described = raised_at(error, sys._getframe(2), thread)
        session.not_begun(_opened(session, graph, clock(), args, kwargs, began=False), described)
    except Exception as problem:
        session.complain("a capture that did not begin", problem)


def _opened(
    session: Session,
    graph: Any,
    begin_ns: int,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    began: bool = True,
) -> OpenCapture:
    import torch

    stream = torch.cuda.current_stream()
    handle, no_handle = 0, ""
    try:
        handle = session.driver().capture_info(stream.cuda_stream).graph if began else 0
    except Exception as error:
        no_handle = str(error)
    spot = locate(sys._getframe(2 if began else 3), graph)
    names = labels.stack()
    if names:
        spot = spot._replace(label=", ".join(names), labelled=True)
    pool = kwargs.get("pool", args[0] if args else None)
    mode = kwargs.get("capture_error_mode", args[1] if len(args) > 1 else "global")
    return OpenCapture(
        handle=handle,
        stream_handle=int(stream.cuda_stream),
        device=getattr(stream, "device_index", None),
        mode=str(mode),
        pool=_pool(pool),
        begin_ns=begin_ns,
        spot=spot,
        thread=threading.current_thread().name,
        error_id=current_exception()[0],
        no_handle=no_handle,
    )


def _pool(pool: Any) -> tuple[int, int] | None:
    try:
        first, second = pool
        return int(first), int(second)
    except (TypeError, ValueError):
        return None


def _capture_end(session: Session, original: Method) -> Method:
    def capture_end(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not session.active:
            return original(self, *args, **kwargs)
        capture: OpenCapture | None = None
        interrupt: BaseException | None = None
        try:
            capture = session.reading(self)
            if capture is not None:
                _note_cause(capture)
        except Exception as error:
            session.complain("reading a graph", error)
        except BaseException as error:
            interrupt = error  # Ctrl-C while we read: the capture is ended all the same
        session.expect_clones()
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            with suppress(BaseException):  # one is on its way already
                session.forget_clones()
            if capture is not None:
                _failed(session, self, capture, error)
            raise
        end_ns = clock()
        if capture is not None:
            try:
                # torch tells the pool of a graph only after its capture.
                capture.pool = _pool(self.pool()) or capture.pool
                session.captured(self, capture, end_ns, not _keeps_graph(self))
            except Exception as error:
                session.complain("capture_end", error)
        session.forget_clones()
        if interrupt is not None:
            raise interrupt
        return result

    return capture_end


def _note_cause(capture: OpenCapture) -> None:
    """Remember the exception that is leaving the capture, if one is."""
    identity, error = current_exception()
    if error is None or identity == capture.error_id:
        capture.cause = None
    else:
        capture.cause = raised(error, capture.thread)
        capture.chain = chain(error, capture.thread, capture.error_id)


def _failed(session: Session, graph: Any, capture: OpenCapture, error: BaseException) -> None:
    try:
        described = raised_at(error, sys._getframe(2), threading.current_thread().name)
        if session.still_capturing(capture):
            # Ended on another stream, for example: the caller may try again.
            capture.refused_end = described
            if capture.origins is not None:
                capture.origins.resume()
            return
        session.close_failed(graph)
        if capture.cause is not None:
            session.failed(capture, capture.cause, "inside")
        else:
            session.failed(capture, described, "end")
    except Exception as problem:
        session.complain("a failed capture", problem)


def _keeps_graph(graph: Any) -> bool:
    """Say whether the graph outlives its capture; then capture_end does not instantiate."""
    raw = getattr(graph, "raw_cuda_graph", None)
    if raw is None:
        return False
    try:
        raw()
    except Exception:
        return False
    return True


HOOKS = {"capture_begin": _capture_begin, "capture_end": _capture_end}
"""What makes the hook of each method: ``make(session, original)``."""
