"""What is known beside a graph: where it came from, what became of it, on what machine."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from .graph import Extra


class EvidenceKind(StrEnum):
    """Kinds of evidence that can hang beside a graph."""

    PARAMETERS = "parameters"
    ATTRIBUTES = "attributes"
    EDGE_PORTS = "edge_ports"
    CAPTURE = "capture"
    TIMINGS = "timings"
    ORIGINS = "origins"
    MEMORY = "memory"
    BENCHMARKS = "benchmarks"
    WRITES = "writes"
    UPDATES = "updates"


class Evidence(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Whether one kind of evidence is there, how it was got and what that cost."""

    present: bool
    how: str = ""
    cost_ns: int | None = None
    reason: str = ""
    """Why it is absent, and what would bring it."""
    extra: Extra = msgspec.field(default_factory=dict)


class Place(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A place in Python source."""

    file: str
    line: int
    function: str = ""


class Failure(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Why a capture did not become a graph."""

    error: str
    """Class of the exception that reached the script, or the driver's result name."""
    message: str
    place: Place | None = None
    """The line of the user's code that is to blame, see `found_by`."""
    nodes_read: bool = True
    """Whether the nodes that had been captured until then could be read."""
    reason: str = ""
    """Why not, when they could not."""
    kind: str = ""
    """Name of an entry of :mod:`capture.failures`, which has the advice; empty if never judged."""
    confidence: str = ""
    """``"certain"`` or ``"likely"``; empty where the kind is not known."""
    because: str = ""
    """What of the evidence decided the kind."""
    alternatives: list[str] = msgspec.field(default_factory=list)
    """Other kinds that fit the evidence, the best first."""
    found_by: str = ""
    """How `place` was found."""
    code: int | None = None
    """CUDA's number (``cudaError_t``) of the first error."""
    first_error: str = ""
    """Class and message of the first error, where another one reached the script."""
    call: str = ""
    """Source text of the expression that failed."""
    operator: str = ""
    """The last operator before the failure, as torch names it."""
    stack: list[Place] = msgspec.field(default_factory=list)
    """Frames of the first error, innermost first, those of libraries included."""
    stream: str = ""
    """Handle of the capturing stream as hexadecimal text."""
    thread: str = ""
    """Name of the thread in which the first error was raised."""
    unjoined: list[int] = msgspec.field(default_factory=list)
    """Positions of nodes that end a branch which the capturing stream does not wait for."""
    facts: Extra = msgspec.field(default_factory=dict)
    """What it was judged by (:class:`capture.failures.Facts`), so that it can be judged again."""


class LeftOut(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An operator that was called inside a capture, on a stream that is not part of it."""

    operator: str
    place: Place | None = None
    stream: str = ""
    """For people: its handle, or that it is the default stream."""
    times: int = 1


class GraphInfo(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is known about one captured graph without opening it.

    Counts include bodies; `width` and `depth` are of the outermost level.
    """

    key: str
    """Stable from run to run: file, function and ordinal of the capture. Unique in a recording."""
    name: str
    """For people: the place of capture and the label."""
    label: str = ""
    """What tells it from its siblings, such as ``"batch_size=8"``."""
    ordinal: int = 0
    how: str = ""
    """``"observed"``, ``"captured"``, ``"handle"`` or the file format it came from."""
    node_count: int = 0
    edge_count: int = 0
    body_count: int = 0
    type_counts: dict[str, int] = msgspec.field(default_factory=dict)
    width: int | None = None
    """Most nodes on one level (longest-path levels)."""
    depth: int | None = None
    """Levels on the longest path."""
    topology: str = ""
    """Digest; graphs with equal digests have equal topology, bodies included."""
    place: Place | None = None
    process: int | None = None
    """Index into the recording's processes."""
    thread: str = ""
    device: int | None = None
    stream: str = ""
    """The capturing stream's handle as hexadecimal text."""
    capture_mode: str = ""
    """``"global"``, ``"thread_local"`` or ``"relaxed"``."""
    pool: tuple[int, int] | None = None
    """Id of the private memory pool."""
    started_ns: int | None = None
    """Begin of the capture on the recording's clock (see Metadata.started_unix_ns)."""
    capture_duration_ns: int | None = None
    """From begin to end of the capture, without our reading."""
    read_duration_ns: int | None = None
    """What our reading added."""
    failure: Failure | None = None
    left_out: list[LeftOut] = msgspec.field(default_factory=list)
    """Work that ran at once instead of becoming nodes, as far as operators were seen."""
    evidence: dict[str, Evidence] = msgspec.field(default_factory=dict)
    warnings: list[str] = msgspec.field(default_factory=list)
    extra: Extra = msgspec.field(default_factory=dict)


class Executable(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What instantiate made of a graph, and what became of it."""

    id: str
    graph: str
    """Key of the graph."""
    instantiate_duration_ns: int | None = None
    instantiated_ns: int | None = None
    uploads: int = 0
    updates: int = 0
    replays: int = 0
    ended: str = ""
    """``"reset"``, ``"destroyed"`` or ``"alive at exit"``; empty when unknown."""
    ended_ns: int | None = None
    note: str = ""
    extra: Extra = msgspec.field(default_factory=dict)


class EventKind(StrEnum):
    """What can stand on a recording's timeline."""

    CAPTURE = "capture"
    CAPTURE_FAILED = "capture_failed"
    INSTANTIATE = "instantiate"
    UPDATE = "update"
    UPLOAD = "upload"
    REPLAY = "replay"
    RESET = "reset"
    DESTROY = "destroy"


class Event(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Something that happened to a graph or an executable."""

    kind: str
    start_ns: int
    duration_ns: int = 0
    """For counted replays: from the first one's start to the last one's return."""
    count: int = 1
    """Consecutive replays of one executable are one event."""
    graph: str = ""
    executable: str = ""
    process: int = 0
    thread: str = ""
    detail: str = ""


class Gpu(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A device as the driver describes it."""

    index: int
    name: str
    compute_capability: tuple[int, int] | None = None
    multiprocessors: int | None = None
    memory_bytes: int | None = None
    l2_bytes: int | None = None
    max_threads_per_multiprocessor: int | None = None
    extra: Extra = msgspec.field(default_factory=dict)


class Process(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One process that took part in a recording."""

    pid: int
    argv: list[str] = msgspec.field(default_factory=list)
    started_ns: int | None = None
    ended: str = ""
    """``"exit"``, or ``"lost"`` when its journal has no end: killed, crashed or ``os._exit``."""
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    gpus: list[Gpu] = msgspec.field(default_factory=list)
    costs_ns: dict[str, int] = msgspec.field(default_factory=dict)
    """Wall time our recorder added, per kind of work."""
    warnings: list[str] = msgspec.field(default_factory=list)
    extra: Extra = msgspec.field(default_factory=dict)


class Metadata(msgspec.Struct, kw_only=True, omit_defaults=True):
    """When, how and with what a recording was made."""

    title: str = ""
    command: list[str] = msgspec.field(default_factory=list)
    """The command as the user typed it."""
    started_unix_ns: int | None = None
    """Unix time at which the recording's clock (nanoseconds, from 0) started."""
    duration_ns: int | None = None
    exit_code: int | None = None
    """Of the workload; negative for a signal, as in :mod:`subprocess`."""
    product_version: str = ""
    source: str = ""
    """``"recorded"``, or the format the recording was converted from."""
    complete: bool = True
    """False when a process vanished without closing its journal."""
    warnings: list[str] = msgspec.field(default_factory=list)
    extra: Extra = msgspec.field(default_factory=dict)
