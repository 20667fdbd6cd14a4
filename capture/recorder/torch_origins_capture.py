"""The origins of one capture: begun with it, stopped before it is read, written after it."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from time import perf_counter_ns as clock
from types import FrameType
from typing import Any

from ..driver.protocol import Driver
from ..model import LeftOut
from ..origins import Origins
from .launch import MEMORY
from .origins.context import Context, Provenance
from .origins.fill import place_of
from .origins.settings import ORIGINS, SOURCES, wants_native
from .origins.stacks import kind_of
from .origins.tables import build
from .origins.watched import Watched
from .torch_native import compile_ahead
from .torch_origins import Watcher
from .torch_origins_compiled import COMPILATIONS
from .torch_origins_patches import obstacle

MAX_SOURCE_BYTES = 2 << 20
"""Of one file; larger ones are left out."""
MAX_SOURCES_BYTES = 16 << 20
HOW = [
    "nodes: the capture's last node before and after each operator",
    "stacks: frames of Python",
    "modules: frames of nn.Module.__call__",
    "forward of backward: sequence numbers of autograd",
]


class CaptureOrigins:
    """What is noted of one capture.

    Parameters
    ----------
    watcher : Watcher
    watched : Watched
    stream : int
        Handle of the capturing stream.
    """

    def __init__(self, watcher: Watcher, watched: Watched, stream: int) -> None:
        self._watcher = watcher
        self._watched = watched
        self._stream = stream
        self._build_ns = 0

    def stop(self) -> None:
        """Stop watching; may be called again."""
        self._watcher.stop(self._watched)

    def resume(self) -> None:
        """Go on watching a capture that was not ended after all."""
        self._watcher.resume(self._watched)

    @property
    def cost_ns(self) -> int:
        """What it cost: during the capture, estimated from a sample, and afterwards."""
        return self._watched.cost_ns + self._build_ns

    def broke_in(self) -> str:
        """Return the operator in which the capture became invalid; empty when none was seen."""
        broke = self._watched.broke
        return broke[0] if broke is not None else ""

    def outside(self) -> str:
        """Return the operator that CUDA refused on a stream which is not part of the capture."""
        return self._watched.outside

    def left_out(self) -> list[LeftOut]:
        """Return operators that were called on streams which are not part of the capture."""
        return self._watched.omitted.rows()

    def last_op(self) -> tuple[str, list[tuple[str, int, str]], str, str]:
        """Return what ran last, or what the capture broke in.

        Returns
        -------
        operator : str
            Empty when none was seen.
        stack : list of (file, line, function)
            Innermost first; empty where only the operator is known.
        thread, stream : str
        """
        watched = self._watched
        names = thread_names(watched)
        if watched.broke is not None:
            operator, stack, thread, stream = watched.broke
        elif watched.latest is not None:
            what, stream, thread = watched.latest
            row = watched.log.last()
            operator, stack = str(what), -1
            if row is not None and row.thread == thread:
                stack = row.stack
        else:
            return "", [], "", ""
        places = self._watcher.rows.stacks.places(stack)
        return (
            operator,
            [place for place in places if kind_of(place[0]) != "ours"],
            names.get(thread, ""),
            f"{stream:#x}",
        )

    def clock(self, handles: list[int]) -> list[tuple[int, int]]:
        """Return (Unix time in us, nodes made until then) after each operator that was noted."""
        log = self._watched.log
        position = {handle: at for at, handle in enumerate(handles)}
        found, made = [], 0
        for row, at_us in zip(log, log.at_us or (), strict=False):
            made = max(made, place_of(row.after, position) + 1)
            found.append((at_us, made))
        return found

    def build(self, key: str, handles: list[int]) -> Origins:
        """Return the origins of every node.

        Parameters
        ----------
        key : str
            Of the graph.
        handles : list of int
            Of the nodes of its outermost level, in creation order.
        """
        started = clock()
        watched = self._watched
        context = Context(
            self._watcher.rows.stacks,
            self._watcher.rows.modules.known,
            self._watcher.rows.modules.by_identity,
            self._watcher.rows.forwards.of,
            provenance_of,
            thread_names(watched),
        )
        origins = build(key, watched.log, handles, context)
        observer, why = self._watcher.observer, self._watcher.not_native
        origins.how = [f"{observer.how} ({why})" if why else observer.how, *HOW]
        if watched.problem:
            origins.missing["stack"] = f"what was noted may be incomplete: {watched.problem}"
        if os.environ.get(SOURCES, "0") not in ("", "0"):
            origins.sources = sources_of(origins)
        self._build_ns = clock() - started
        origins.extra["operators_seen"] = watched.seen
        origins.extra["cost_ns"] = self.cost_ns
        origins.extra["cost_how"] = observer.cost_how
        origins.extra["observer"] = observer.name
        if why:
            origins.extra["observer_why"] = why
        return origins


def thread_names(watched: Watched) -> dict[int, str]:
    """Return names of the threads that worked for a capture."""
    known = {thread.ident: thread.name for thread in threading.enumerate()}
    return {
        ident: known.get(ident, "autograd" if ident != watched.thread else "capturing thread")
        for ident in watched.threads
    }


def sources_of(origins: Origins) -> dict[str, str]:
    """Return the text of the user's files that stacks go through."""
    found: dict[str, str] = {}
    left = MAX_SOURCES_BYTES
    for file in dict.fromkeys(frame.file for frame in origins.frames if frame.kind == "user"):
        try:
            data = Path(file).read_bytes()
        except (OSError, ValueError):
            continue
        if len(data) <= min(left, MAX_SOURCE_BYTES):
            found[file] = data.decode("utf-8", errors="replace")
            left -= len(data)
    return found


def provenance_of(file: str, line: int, kernel: str) -> Provenance | None:
    """Ask torch's compiler what a line that it wrote comes from."""
    from .torch_origins_inductor import provenance

    return provenance(file, line, kernel)


class OriginSource:
    """Starts recording origins, if this torch can be watched and nobody switched it off.

    Attributes
    ----------
    reason : str
        Why there are no origins; empty while there are.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._watcher: Watcher | None = None
        self._prepared_ns = 0
        if os.environ.get(ORIGINS, "1") == "0":
            self.reason = "origins were switched off"

    def loaded(self, torch: Any) -> None:
        """Do what can be done once torch is there.

        That is to listen to its compiler, for the modules of what it compiles, and to have the
        observer in C++ compiled.
        """
        if not self.reason:
            COMPILATIONS.watch()
            if wants_native():
                compile_ahead(torch)

    def prepare(self) -> None:
        """Do what takes long before a capture."""
        if not self.reason:
            started = clock()
            try:
                if self._watcher is None:
                    self._watcher = Watcher()
                else:
                    self._watcher.register()
                self._prepared_ns += clock() - started
            except Exception as error:
                self.reason = (
                    f"operators of this torch cannot be watched: {type(error).__name__}: {error}"
                )

    def abandon(self) -> None:
        """Watch nothing any more, in a forked child: no capture of the parent goes on there."""
        if self._watcher is not None:
            self._watcher.abandon()

    def begin(self, driver: Driver, stream: int, frame: FrameType | None) -> CaptureOrigins | None:
        """Start watching the capture that has begun on a stream."""
        watcher = self._watcher
        self.reason = self.reason or obstacle()
        if watcher is None or self.reason:
            return None
        info: Any = driver.capture_info(stream)
        if info.status != 1:
            return None
        watched = watcher.start(driver, info.id, stream, frame)
        watched.fixed_ns += self._prepared_ns
        self._prepared_ns = 0
        if os.environ.get(MEMORY) == "stacks":
            watched.log.at_us = []  # allocations are placed between operators by their times
        return CaptureOrigins(watcher, watched, stream)
