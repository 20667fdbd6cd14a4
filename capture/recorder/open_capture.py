"""A capture between its begin and its end."""

from __future__ import annotations

import msgspec

from ..extract import Extraction
from ..failures import Raised
from ..memory_map import Memory
from ..model import GraphInfo, LeftOut, Place
from ..noticed import FIELD
from ..origins import Origins
from .noticing import Noticing
from .origins.ports import CaptureOrigins
from .places import Spot, is_user, short_name


class OpenCapture:
    """What is remembered from the begin of a capture until it ends.

    Parameters
    ----------
    handle : int
        The ``CUgraph`` under capture; it stays readable after the capture was invalidated.
    stream_handle : int
    device : int or None
    mode : str
        ``"global"``, ``"thread_local"`` or ``"relaxed"``.
    pool : tuple of two int, or None
    begin_ns : int
        When the framework's begin of the capture returned.
    spot : Spot
    thread : str
    error_id : int
        Identity of the exception that was being handled when the capture began: it is not the
        reason for what happens later.
    """

    def __init__(
        self,
        *,
        handle: int,
        stream_handle: int,
        device: int | None,
        mode: str,
        pool: tuple[int, int] | None,
        begin_ns: int,
        spot: Spot,
        thread: str,
        error_id: int = 0,
        no_handle: str = "",
    ) -> None:
        self.handle = handle
        self.stream_handle = stream_handle
        self.device = device
        self.mode = mode
        self.pool = pool
        self.begin_ns = begin_ns
        self.spot = spot
        self.thread = thread
        self.error_id = error_id
        self.no_handle = no_handle
        self.key = ""
        self.how = "observed"
        self.ordinal = 0
        self.end_ns = begin_ns
        self.begin_cost_ns = 0
        self.read_ns = 0
        self.extraction: Extraction | None = None
        self.unread = ""
        self.cause: Raised | None = None
        """The exception that was leaving the capture at its end."""
        self.chain: list[Raised] = []
        """Exceptions about CUDA that had led to it, the first one first."""
        self.refused_end: Raised | None = None
        """The error of an end that left the capture going on, such as one on another stream."""
        self.status = ""
        """``"active"`` or ``"invalidated"``: what CUDA said just before the end."""
        self.last_nodes: list[int] = []
        """Handles that the capturing stream's next node would depend on, just before the end."""
        self.left_out: list[LeftOut] = []
        """Work that was launched inside the capture and is not part of it."""
        self.operator = ""
        """The last operator before the end, where operators were recorded."""
        self.broke_in = ""
        """The operator in which the capture became invalid."""
        self.outside = ""
        """The operator that was refused on a stream which is not part of the capture."""
        self.memory: Memory | None = None
        """What memory was like before the capture began, where that was asked for."""
        self.noticing: Noticing | None = None
        """What is noticed beside the nodes, where torch captures."""
        self.origins: CaptureOrigins | None = None
        self.found: Origins | None = None
        """Where the nodes come from, once they were read."""

    @property
    def name(self) -> str:
        """Name of the graph for people."""
        return short_name(self.spot.place, self.spot.label)

    def place_of_node(self, position: int) -> Place | None:
        """Return the user's line that a node comes from, where that was recorded."""
        found = self.found
        if found is None or not 0 <= position < len(found.stack):
            return None
        stack = found.stack[position]
        frames = [found.frames[at] for at in found.stacks[stack]] if stack >= 0 else []
        frame = next((item for item in frames if is_user(item.file)), None)
        if frame is None:
            return None
        return Place(file=frame.file, line=frame.line, function=frame.function)

    def stop_origins(self) -> None:
        """Stop noting where nodes come from, before they are read."""
        if self.noticing is not None:
            self.noticing.stop()
        if self.origins is not None:
            self.origins.stop()
            self.operator = self.origins.last_op()[0]
            self.broke_in = self.origins.broke_in()
            self.outside = self.origins.outside()
            self.left_out = self.origins.left_out()

    @property
    def duration_ns(self) -> int:
        """From the begin until the end was asked for, without our own work in between."""
        return max(0, self.end_ns - self.begin_ns - self.begin_cost_ns)

    def info(self) -> GraphInfo:
        """Return what is known about the graph; counts are added when the recording is made."""
        spot = self.spot
        info = GraphInfo(
            key=self.key,
            name=self.name,
            label=spot.label,
            ordinal=self.ordinal,
            how=self.how,
            place=spot.place,
            thread=self.thread,
            device=self.device,
            stream=f"{self.stream_handle:#x}",
            capture_mode=self.mode,
            pool=self.pool,
            started_ns=self.begin_ns,
            capture_duration_ns=self.duration_ns,
            read_duration_ns=self.read_ns,
        )
        if len(spot.stack) > 1:
            info.extra["stack"] = [list(frame) for frame in spot.stack]
        if spot.label and not spot.labelled:
            info.extra["label_from"] = "local variables of the capturing code: a guess"
        if self.noticing is not None:
            info.extra[FIELD] = msgspec.to_builtins(self.noticing.found)
        if spot.framework:
            info.extra["place_is_framework"] = True
        if spot.internal:
            info.extra["framework_internal"] = True
        if spot.compiled is not None:
            info.extra["compiled"] = spot.compiled
        return info
