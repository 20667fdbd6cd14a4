"""A dry run on fake tensors: what would break a capture, without a GPU and without the data."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch

from ..model import Place
from . import (
    torch_ready_autocast,
    torch_ready_backends,
    torch_ready_compiler,
    torch_ready_cuda,
    torch_ready_fallback,
    torch_ready_files,
    torch_ready_lengths,
    torch_ready_tensors,
)
from .readiness import Readiness, Spot
from .ready_log import Log
from .ready_streams import World
from .torch_capture import place_of
from .torch_ready_mode import DeviceNames, ReadyMode

LIMITS = (
    "Values: there is no data, so a branch on a value takes one side, and the other is not seen.",
    "What the script does besides: it ran, with made-up numbers, and wrote the files it writes.",
    "What a kernel does by itself: lazy loading, autotuning, workspaces and out of memory show on "
    "a GPU only.",
)


class DryRun:
    """The dry run of this process.

    Attributes
    ----------
    log : Log
        What was found.
    """

    def __init__(self, readiness: Readiness) -> None:
        self.log = Log(readiness)
        self.world = World(self.log)
        self._stack = ExitStack()
        readiness.versions = {"torch": str(torch.__version__)}
        for sentence in LIMITS:
            self.log.limit(sentence)

    def begin(self) -> None:
        """From here on, tensors are fake and ``torch.cuda`` is a stand-in."""
        mode = ReadyMode(self.log, self.world)
        torch_ready_tensors.install(self.log)
        torch_ready_cuda.install(self.log, self.world)
        torch_ready_backends.install()
        torch_ready_autocast.install()
        torch_ready_fallback.install()
        torch_ready_lengths.install(self.log)
        torch_ready_compiler.install(self.log)
        torch_ready_files.install(self.log)
        self._stack.enter_context(mode)
        self._stack.enter_context(DeviceNames())

    def end(self) -> None:
        """Leave the modes."""
        self._stack.close()

    def check(self, function: Callable[[], Any], name: str) -> None:
        """Run a function as `cglens record` does: once to warm up, then in a capture."""
        before = sum(region.times for region in self.log.readiness.regions)
        place: Place | None = place_of(function)
        side: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        with torch.cuda.stream(side):
            function()
        if sum(region.times for region in self.log.readiness.regions) > before:
            return
        spot = Spot(place.file, place.line, place.function) if place is not None else None
        self.log.begin(name, spot)
        try:
            with torch.cuda.stream(side):
                capture = self.world.begin()
                try:
                    function()
                finally:
                    if capture is not None:
                        self.world.end(capture)
        finally:
            self.log.end()
