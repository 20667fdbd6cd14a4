"""Streams, events and captures without a GPU: who waits for whom, by CUDA's rules of capture.

Source of the rules: CUDA programming guide, "Creating a Graph Using Stream Capture".
"""

from __future__ import annotations

import threading
from itertools import count
from typing import Any

from .readiness import Spot
from .ready_log import Log, user_stack

JOIN = "let the capturing stream wait for it: `torch.cuda.current_stream().wait_stream(side)`"
FORK = "let it wait for the capturing stream first: `side.wait_stream(torch.cuda.current_stream())`"

_serials = count(1)


class Capture:
    """One capture under way.

    Attributes
    ----------
    origin : StandInStream
        The stream on which it began, and has to end.
    members : dict
        Streams that are captured, with the number of operators each has had.
    generators : list
        Random generators that the graph knows, beside the default ones.
    mode : str
        Of ``cudaStreamBeginCapture``: ``"global"``, ``"thread_local"`` or ``"relaxed"``.
    """

    def __init__(self, origin: StandInStream) -> None:
        self.origin = origin
        self.members: dict[StandInStream, int] = {origin: 0}
        self.seen: dict[StandInStream, dict[StandInStream, int]] = {origin: {}}
        self.last: dict[StandInStream, list[Spot]] = {}
        self.ended = False
        self.generators: list[Any] = []
        self.mode = "global"
        self.thread = threading.get_ident()

    def work(self, stream: StandInStream) -> None:
        """Add an operator to a captured stream."""
        self.members[stream] += 1
        self.seen[stream][stream] = self.members[stream]
        if stream is not self.origin:
            self.last[stream] = user_stack()

    def join(self, stream: StandInStream, seen: dict[StandInStream, int]) -> None:
        """Let a stream wait for what an event has seen; that captures the stream."""
        self.members.setdefault(stream, 0)
        mine = self.seen.setdefault(stream, {})
        for other, number in seen.items():
            mine[other] = max(mine.get(other, 0), number)

    def unjoined(self) -> list[StandInStream]:
        """Return the streams with work that the origin does not wait for."""
        seen = self.seen[self.origin]
        return [
            stream
            for stream, number in self.members.items()
            if stream is not self.origin and seen.get(stream, 0) < number
        ]


class World:
    """All streams of one dry run."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.captures: list[Capture] = []
        self.generators: dict[int, Any] = {}
        self.device = 0
        self.default = StandInStream(self, serial=0)
        self._local = threading.local()

    @property
    def current(self) -> StandInStream:
        """The thread's current stream."""
        stream: StandInStream = getattr(self._local, "stream", self.default)
        return stream

    @current.setter
    def current(self, stream: StandInStream) -> None:
        self._local.stream = stream

    @property
    def capturing(self) -> bool:
        """Whether the current stream is captured."""
        return self.capture_of(self.current) is not None

    def capture_of(self, stream: StandInStream) -> Capture | None:
        """Return the capture that a stream takes part in."""
        for capture in self.captures:
            if stream in capture.members:
                return capture
        return None

    def begin(self) -> Capture | None:
        """Begin a capture on the current stream; ``None`` where CUDA would refuse."""
        stream = self.current
        if self.capture_of(stream) is not None:
            self.log.found(
                "nested_capture",
                "CUDAGraph.capture_begin",
                "this stream is being captured already, and captures do not nest",
                "capture the inner part before, or leave its own graph out",
            )
            return None
        if stream is self.default:
            self.log.begin("CUDAGraph.capture_begin")
            self.log.found(
                "default_stream_capture",
                "CUDAGraph.capture_begin",
                "the default stream cannot be captured",
                "capture inside `with torch.cuda.stream(torch.cuda.Stream()):`, or use "
                "`torch.cuda.graph`, which does",
            )
            self.log.end()
        capture = Capture(stream)
        self.captures.append(capture)
        return capture

    def end(self, capture: Capture) -> None:
        """End a capture, with what CUDA checks then."""
        elsewhere = threading.get_ident() != capture.thread and capture.mode != "relaxed"
        if self.current is not capture.origin or elsewhere:
            where = "in the thread" if elsewhere else "on the stream"
            self.log.found(
                "mismatched_end",
                "CUDAGraph.capture_end",
                f"a capture has to end {where} in which it began".replace("stream in", "stream on"),
                "call it where `capture_begin` is called, inside the same "
                "`with torch.cuda.stream(...)`",
            )
        else:
            for stream in capture.unjoined():
                self.log.found(
                    "unjoined_stream",
                    "CUDAGraph.capture_end",
                    "this is the last work of a stream that was forked from the capturing one, "
                    "and the capture ends without waiting for it",
                    JOIN,
                    stack=capture.last.get(stream),
                )
        capture.ended = True
        self.captures.remove(capture)

    def work(self, operator: str) -> None:
        """Note an operator on the current stream."""
        if not self.captures:
            return
        stream = self.current
        capture = self.capture_of(stream)
        if capture is not None:
            capture.work(stream)
        elif all(threading.get_ident() == capture.thread for capture in self.captures):
            named = "the default stream" if stream is self.default else "a stream"
            self.log.found(
                "other_stream",
                operator,
                f"it runs on {named} that is not captured: it is not in the graph, and no "
                f"replay repeats it",
                FORK + "; join it before the capture ends",
                operator,
            )

    def knows(self, generator: Any) -> bool:
        """Say whether a replay would advance a random generator."""
        return (
            not self.captures
            or generator._cdata not in self.generators
            or any(generator._cdata == known._cdata for known in self.captures[-1].generators)
        )

    def host_waits(self, call: str, captured: bool) -> None:
        """Note that the host waits or asks; in a relaxed capture it may for others' work."""
        if captured or any(capture.mode != "relaxed" for capture in self.captures):
            self.log.found("host_sync", call, HOST_WAITS, WAIT_OUTSIDE)


class StandInStream:
    """A stream: an identity, and what is captured on it."""

    def __init__(self, world: World, serial: int | None = None) -> None:
        self._world = world
        self._serial = next(_serials) if serial is None else serial

    def wait_event(self, event: Any) -> None:
        """Make later work wait for an event."""
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        """Make later work wait for what another stream has."""
        event = StandInEvent(self._world)
        event.record(stream)
        event.wait(self, "Stream.wait_stream")

    def record_event(self, event: Any = None) -> Any:
        """Record an event on this stream."""
        event = self._new_event() if event is None else event
        event.record(self)
        return event

    def _new_event(self) -> Any:
        return StandInEvent(self._world)

    def synchronize(self) -> None:
        """Wait on the host."""
        self._world.host_waits("Stream.synchronize", self._world.capture_of(self) is not None)

    def query(self) -> bool:
        """Ask from the host."""
        self._world.host_waits("Stream.query", self._world.capture_of(self) is not None)
        return True


HOST_WAITS = "the host asks for work that is only being recorded, not run"
WAIT_OUTSIDE = "move it before the capture, or after a replay"


class StandInEvent:
    """An event: what had been seen on the stream when it was recorded."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._recorded = False
        self._capture: Capture | None = None
        self._seen: dict[StandInStream, int] = {}

    def record(self, stream: Any = None) -> None:
        """Record on a stream, or the current one."""
        stream = self._world.current if stream is None else stream
        self._recorded = True
        self._capture = self._world.capture_of(stream)
        self._seen = dict(self._capture.seen[stream]) if self._capture is not None else {}

    def wait(self, stream: Any = None, call: str = "Event.wait") -> None:
        """Make a stream wait."""
        world = self._world
        stream = world.current if stream is None else stream
        if not self._recorded:
            return
        mine = world.capture_of(stream)
        if self._capture is not None and not self._capture.ended:
            if mine is not None and mine is not self._capture:
                world.log.found(
                    "merged_captures",
                    call,
                    "the event belongs to another capture that is under way",
                    "end one capture before the other begins, or capture both branches in one",
                )
            elif mine is None and stream is world.default:
                world.log.found(
                    "legacy_stream",
                    call,
                    "the default stream cannot wait for work that is only being recorded",
                    "wait after a replay, on the stream of the replay",
                )
            else:
                self._capture.join(stream, self._seen)
        elif mine is not None:
            world.log.found(
                "other_stream",
                call,
                "the event was recorded outside this capture, on work that is not in it",
                "wait for it before the capture begins, or fork its stream from the capturing one",
            )

    def synchronize(self) -> None:
        """Wait on the host."""
        self._host("Event.synchronize")

    def query(self) -> bool:
        """Ask from the host."""
        self._host("Event.query")
        return True

    def elapsed_time(self, end_event: Any) -> float:
        """Return 1.0: nothing ran."""
        if self._captured() or end_event._captured():
            self._world.log.found("host_sync", "Event.elapsed_time", HOST_WAITS, WAIT_OUTSIDE)
        return 1.0

    def _captured(self) -> bool:
        return self._capture is not None and not self._capture.ended

    def _host(self, call: str) -> None:
        self._world.host_waits(call, self._captured())
