"""Stand-ins for the streams, events, devices and graphs of ``torch.cuda``."""

from __future__ import annotations

import contextlib
from itertools import count
from typing import Any

import torch

from .ready_streams import Capture, StandInEvent, StandInStream, World

_pools = count(1)


def names(world: World) -> dict[str, Any]:
    """Return the stand-ins by their names in ``torch.cuda``."""
    return {**_devices(world), **_streams(world), **_graphs(world), **_graph_context(world)}


def _devices(world: World) -> dict[str, Any]:
    def index(device: Any) -> int:
        if device is None or isinstance(device, int):
            return world.device if device is None else max(device, 0)
        return torch.device(device).index or 0

    @contextlib.contextmanager
    def chosen(device: Any) -> Any:
        outer, world.device = world.device, index(device)
        try:
            yield
        finally:
            world.device = outer

    def choose(device: Any) -> None:
        world.device = index(device)

    def exchange(device: int) -> int:
        outer, world.device = world.device, max(device, 0)
        return outer

    return {
        "device": chosen,
        "device_of": lambda tensor: chosen(tensor.device if tensor.is_cuda else None),
        "_DeviceGuard": chosen,
        "_exchange_device": exchange,
        "_maybe_exchange_device": exchange,
        "set_device": choose,
        "current_device": lambda: world.device,
    }


class _Kind(type):
    """The class of stand-ins: like ``torch.Stream``, it knows instances of every device's."""

    def __instancecheck__(cls, value: object) -> bool:
        kind = StandInStream if issubclass(cls, StandInStream) else StandInEvent
        return isinstance(value, kind)


def _streams(world: World) -> dict[str, Any]:
    class Stream(StandInStream, metaclass=_Kind):
        """Stand-in for ``torch.cuda.Stream``."""

        device_type = 1  # CUDA's, in c10::DeviceType

        def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
            super().__init__(world)
            self.priority = priority
            self.device = torch.device("cuda", 0)
            self.device_index = 0

        @property
        def cuda_stream(self) -> int:
            return self._serial

        stream_id = native_handle = _as_parameter_ = cuda_stream

        @staticmethod
        def priority_range() -> tuple[int, int]:
            return 0, -5

        def _new_event(self) -> Any:
            return Event()

        def __enter__(self) -> Any:
            self._outer = world.current
            world.current = self
            return self

        def __exit__(self, *error: object) -> None:
            world.current = self._outer

    class Event(StandInEvent, metaclass=_Kind):
        """Stand-in for ``torch.cuda.Event``."""

        @classmethod
        def from_ipc_handle(cls, device: Any, handle: Any) -> Any:
            return cls()

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(world)
            self.device = torch.device("cuda", 0)
            self.cuda_event = id(self)

    default: Any = Stream()
    default._serial = 0
    world.default = default

    @contextlib.contextmanager
    def stream(chosen: Any) -> Any:
        outer = world.current
        if chosen is not None:
            world.current = chosen
        try:
            yield chosen
        finally:
            world.current = outer

    def set_stream(chosen: Any) -> None:
        if chosen is not None:
            world.current = chosen

    anything: Any = torch
    anything.Stream, anything.Event = Stream, Event
    return {
        "Stream": Stream,
        "ExternalStream": lambda pointer, device=None, **kwargs: Stream(),
        "get_stream_from_external": lambda pointer, device=None: Stream(),
        "Event": Event,
        "stream": stream,
        "StreamContext": stream,
        "set_stream": set_stream,
        "current_stream": lambda device=None: world.current,
        "default_stream": lambda device=None: world.default,
        "is_current_stream_capturing": lambda: world.capturing,
    }


def _graphs(world: World) -> dict[str, Any]:
    class CUDAGraph:
        """Stand-in for ``torch.cuda.CUDAGraph``: what is between begin and end is checked."""

        def __init__(self, keep_graph: bool = False) -> None:
            self._capture: Capture | None = None
            self._captured = False
            self._pool: Any = None
            self._generators: list[Any] = []

        def capture_begin(
            self, pool: Any = None, capture_error_mode: str = "global", **kwargs: Any
        ) -> None:
            log = world.log
            if self._captured:
                log.begin("torch.cuda.CUDAGraph")
                log.found(
                    "graph_object",
                    "CUDAGraph.capture_begin",
                    "this object holds a graph already",
                    "make a new `torch.cuda.CUDAGraph()` for each capture, or `reset()` this one",
                )
                log.end()
            self._pool = pool if pool is not None else (next(_pools), 0)
            self._capture = world.begin()
            if self._capture is not None:
                self._capture.generators = self._generators
                self._capture.mode = capture_error_mode
                log.begin("torch.cuda.CUDAGraph", mode=capture_error_mode)

        def capture_end(self) -> None:
            if self._capture is not None:
                world.end(self._capture)
                world.log.end()
                self._capture = None
                self._captured = True

        def replay(self) -> None:
            if world.capturing:
                world.log.found(
                    "nested_capture",
                    "CUDAGraph.replay",
                    "torch cannot launch a graph into another graph's capture",
                    "call the function itself instead of the graph that was made of it",
                )

        def register_generator_state(self, generator: Any) -> None:
            self._generators.append(generator)

        def reset(self) -> None:
            self._captured = False

        def pool(self) -> Any:
            return self._pool

        def raw_cuda_graph(self) -> int:
            return id(self)

        raw_cuda_graph_exec = raw_cuda_graph

        def instantiate(self) -> None:
            pass

        def enable_debug_mode(self) -> None:
            pass

        def debug_dump(self, debug_path: str) -> None:
            pass

    return {"CUDAGraph": CUDAGraph, "graph_pool_handle": lambda: (0, next(_pools))}


def _graph_context(world: World) -> dict[str, Any]:
    log = world.log

    class graph:  # noqa: N801 - torch's own name
        """Stand-in for ``torch.cuda.graph``."""

        default_capture_stream: Any = None

        def __init__(
            self,
            cuda_graph: Any,
            pool: Any = None,
            stream: Any = None,
            capture_error_mode: str = "global",
            **kwargs: Any,
        ) -> None:
            if graph.default_capture_stream is None:
                graph.default_capture_stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            self.cuda_graph = cuda_graph
            self.pool = pool
            self.mode = capture_error_mode
            self.capture_stream = stream or graph.default_capture_stream

        def __enter__(self) -> None:
            if world.captures:
                log.found(
                    "nested_capture",
                    "torch.cuda.graph",
                    "another capture is under way, and captures do not nest",
                    "capture the inner part before, or leave its own graph out",
                )
            self._outer = world.current
            world.current = self.capture_stream
            with log.quiet() if world.captures else contextlib.nullcontext():
                self.cuda_graph.capture_begin(self.pool, self.mode)

        def __exit__(self, *error: object) -> None:
            self.cuda_graph.capture_end()
            world.current = self._outer

    return {"graph": graph}
