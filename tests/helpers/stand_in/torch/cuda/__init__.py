"""Streams and devices."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

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


def get_rng_state() -> int:
    return 0


def set_rng_state(state: int) -> None:
    pass


def synchronize() -> None:
    graphs.synchronize()


from . import graphs  # noqa: E402
from .graphs import CUDAGraph, graph, graph_pool_handle, make_graphed_callables  # noqa: E402

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "make_graphed_callables"]
