"""Streams and devices."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace

_handles = count(0x5000, 0x10)
_local = threading.local()


class Stream:
    """A stream; the default one has handle 0."""

    def __init__(self, handle: int | None = None) -> None:
        self.cuda_stream = next(_handles) if handle is None else handle
        self.device_index = 0

    def wait_stream(self, other: Stream) -> None:
        pass


_default = Stream(0)


def current_stream() -> Stream:
    return getattr(_local, "stream", _default)


@contextmanager
def stream(chosen: Stream) -> Iterator[None]:
    before = current_stream()
    _local.stream = chosen
    try:
        yield
    finally:
        _local.stream = before


def is_available() -> bool:
    return not os.environ.get("NO_GPU")


def memory_snapshot() -> list[object]:
    return list(memory.segments)


@contextmanager
def device(index: int) -> Iterator[None]:
    yield


def get_device_properties(index: int) -> object:
    return SimpleNamespace(uuid="00000000-0000-0000-0000-000000000000")


class Event:
    """An event on a device that is done at once."""

    def __init__(self, enable_timing: bool = False) -> None:
        self.at_ns = 0

    def record(self) -> None:
        self.at_ns = time.perf_counter_ns()

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: Event) -> float:
        return (end.at_ns - self.at_ns) / 1e6


def get_rng_state() -> int:
    return 0


def set_rng_state(state: int) -> None:
    pass


def synchronize() -> None:
    graphs.synchronize()


_queued: list[Callable[[], None]] = []


def _lazy_call(call: Callable[[], None]) -> None:
    _queued.append(call)


def init() -> None:
    """Initialise CUDA, which what was queued has waited for."""
    while _queued:
        _queued.pop(0)()


from . import graphs, memory, nvtx  # noqa: E402, F401
from .graphs import CUDAGraph, graph, graph_pool_handle, make_graphed_callables  # noqa: E402

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "make_graphed_callables"]
