"""Notes the memory of the tensors of every operator and Triton launch while graphs are captured.

It stands around what the recorder itself watches operators with, so that calls are joined to nodes
as origins are, and reads what the recorder does not: the addresses of inputs and outputs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Range(NamedTuple):
    """Memory of a tensor."""

    start: int
    end: int
    what: str
    """Such as ``"input 0"`` or ``"output"``."""
    on_device: bool
    storage: tuple[int, int]
    """Start and end of its storage."""


@dataclass
class Call:
    """A call of an operator, or a launch of a Triton kernel."""

    name: str
    is_launch: bool
    ranges: list[Range]
    begun_us: int
    ended_us: int
    """Unix time, as in torch's memory history."""


@dataclass
class Captured:
    """What was noted of one graph."""

    calls: dict[int, Call]
    """By row of the recorder's log."""
    owners: list[int]
    """Row of each node of the outermost level; -1 where no call made it."""


@dataclass
class TensorLog:
    """What was noted, by key of the graph."""

    graphs: dict[str, Captured] = field(default_factory=dict)

    def install(self) -> None:
        """Stand around the recorder's watching of operators, for the rest of the process.

        They are watched in Python then: what is compiled cannot be stood around.
        """
        from capture.recorder import torch_origins, torch_origins_capture, torch_origins_fallback
        from capture.recorder.origins.fill import fill
        from capture.recorder.origins.settings import OBSERVER
        from capture.recorder.torch_origins_reading import hide_from_compiler

        os.environ[OBSERVER] = "python"  # the one in C++ hands over no tensor
        plain_kernel = torch_origins_fallback.make_kernel
        plain_launch = torch_origins.Watcher.note_launch
        plain_build = torch_origins_capture.CaptureOrigins.build

        def make_kernel(watcher: Any) -> Callable[..., Any]:
            inner = plain_kernel(watcher)
            hide_from_compiler(inner)

            def observe(slot: Any, keys: Any, *args: Any, **kwargs: Any) -> Any:
                watched = _watched(watcher)
                rows = len(watched.log) if watched is not None else 0
                begun = _now_us()
                result = inner(slot, keys, *args, **kwargs)
                if watched is not None and len(watched.log) > rows:
                    given = _named(slot.name, args, kwargs)
                    _note(watched, slot.name, False, [*given, ("output", result)], begun)
                return result

            return observe

        def note_launch(self: Any, launch: Any, frame: Any, run: Any) -> Any:
            watched = _watched(self)
            rows = len(watched.log) if watched is not None else 0
            begun = _now_us()
            result = plain_launch(self, launch, frame, run)
            if watched is not None and len(watched.log) > rows:
                given = _named(launch.name, run.args[1:], run.keywords)
                _note(watched, launch.name, True, given, begun)
            return result

        def build(self: Any, key: str, handles: list[int]) -> Any:
            watched = self._watched
            calls = getattr(watched, "noted_calls", {})
            self_owners = fill(handles, watched.log).rows
            log.graphs[key] = Captured(calls, self_owners)
            return plain_build(self, key, handles)

        log = self
        for place, name, new in (
            (torch_origins_fallback, "make_kernel", make_kernel),
            (torch_origins.Watcher, "note_launch", note_launch),
            (torch_origins_capture.CaptureOrigins, "build", build),
        ):
            if not hasattr(place, name):
                raise AttributeError(f"the recorder has no {name} to stand around any more")
            setattr(place, name, new)


def _watched(watcher: Any) -> Any:
    if not watcher.open:
        return None
    return watcher.single or watcher.watched(watcher.current_stream())


def _now_us() -> int:
    return time.time_ns() // 1000


def _named(name: str, args: Iterable[Any], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
    return [*((f"input {at}", item) for at, item in enumerate(args)), *kwargs.items()]


def _note(
    watched: Any, name: str, is_launch: bool, values: list[tuple[str, Any]], begun_us: int
) -> None:
    """Note the tensors of the call whose row was written last."""
    found = {range_ for what, value in values for range_ in _ranges(what, value)}
    calls = getattr(watched, "noted_calls", None)
    if calls is None:
        calls = watched.noted_calls = {}
    calls[len(watched.log) - 1] = Call(name, is_launch, sorted(found), begun_us, _now_us())


def _ranges(what: str, value: Any) -> Iterator[Range]:
    import torch

    if isinstance(value, list | tuple):
        for item in value:
            yield from _ranges(what, item)
        return
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return
    try:
        start, storage = value.data_ptr(), value.untyped_storage()
        base, size = storage.data_ptr(), storage.nbytes()
    except RuntimeError:
        return  # a subclass without memory of its own
    if not value.numel() or not start:
        return
    steps = ((length - 1) * step for length, step in zip(value.shape, value.stride(), strict=True))
    end = start + (sum(steps) + 1) * value.element_size()
    yield Range(start, end, what, value.device.type == "cuda", (base, base + size))
