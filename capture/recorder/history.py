"""One process's journal, read back: what it captured, instantiated, replayed and complained of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import msgspec

from ..codec import decode_evidence, load, load_topology
from ..errors import FormatError
from ..evidence import STORED, StoredKind
from ..model import Event, EventKind, Executable, Gpu, GraphInfo, Kernel, Process, Topology
from .timeline import RunRow


class _Line(msgspec.Struct):
    """A record of any kind; a graph's nodes stay undecoded."""

    kind: str
    serial: int = 0
    number: int = 0
    info: dict[str, Any] | None = None
    document: msgspec.Raw = msgspec.Raw(b"null")
    digest: str = ""
    text: str = ""
    event: str = ""
    start_ns: int = 0
    duration_ns: int | None = None
    count: int = 1
    thread: str = ""
    detail: str = ""
    at_ns: int | None = None
    note: str = ""
    replays: int = 0
    ended: str = ""
    unix_ns: int = 0
    clock_ns: int = 0
    pid: int = 0
    parent: int = 0
    argv: list[str] = []
    cwd: str = ""
    python: str = ""
    executable: str = ""
    versions: dict[str, str] = {}
    gpus: list[Any] = []
    costs_ns: dict[str, int] = {}
    name: str = ""
    rows: list[RunRow] = []
    value: Any = None


class _Level(msgspec.Struct):
    topology: str = ""
    parent: int = -1
    node: int = -1
    index: int = -1


class _Levels(msgspec.Struct):
    levels: list[_Level]


class GraphEntry(NamedTuple):
    """A captured graph or a failed capture in a journal."""

    serial: int
    info: GraphInfo
    failed: bool
    has_nodes: bool
    offset: int
    shape: Any
    """Equal for graphs of equal topology, bodies included."""


class EvidenceEntry(NamedTuple):
    """Evidence in a journal: what is said of it, and where it is."""

    kind: StoredKind
    serial: int
    number: int
    """Of the executable; 0 for evidence of a graph."""
    how: str
    reason: str
    """Why it is no evidence all the same; empty if it is."""
    cost_ns: int | None
    offset: int

    def owner(self, keys: dict[int, str], process: int) -> str:
        """Return the key of its graph, the id of its executable, or its process as text."""
        if self.kind.owner == "process":
            return str(process)
        key = keys[self.serial]
        return key if self.kind.owner == "graph" else f"{key}/exec{self.number}"


class JournalHistory:
    """What one process's journal says; times are on the recording's clock."""

    def __init__(self) -> None:
        self.process: Process | None = None
        self.started_ns = 0
        self.warnings: list[str] = []
        self.topologies: dict[str, Topology] = {}
        self.kernels: list[Kernel] = []
        self.graphs: list[GraphEntry] = []
        self._executables: dict[tuple[int, int], Executable] = {}
        self._events: list[tuple[int, int, Event]] = []
        self._runs: dict[tuple[int, int, int], Event] = {}
        self._offset_ns = 0
        self._parent = 0
        self._evidence: dict[tuple[str, int, int], EvidenceEntry] = {}
        self._absent: dict[tuple[str, int], str] = {}
        self.untimed = ""
        """Why executables have no node timings of which nothing else is said."""

    @property
    def tells_something(self) -> bool:
        """Whether the process captured or tried to."""
        return bool(self.graphs)

    def executables_of(self, keys: dict[int, str], process: int) -> Iterator[Executable]:
        """Yield executables with the keys of their graphs."""
        for (serial, number), item in self._executables.items():
            if serial in keys:
                item.graph = keys[serial]
                item.id = f"{keys[serial]}/exec{number}"
                yield item

    def evidence_of(self, keys: dict[int, str]) -> Iterator[EvidenceEntry]:
        """Yield the evidence of the process, and of graphs that have keys."""
        for entry in self._evidence.values():
            if entry.serial in keys or entry.kind.owner == "process":
                yield entry

    def why_absent(self, kind: str, serial: int) -> str:
        """Return why a graph has no evidence of a kind, or empty text when nobody said."""
        return self._absent.get((kind, serial), self.untimed if kind == "timings" else "")

    def events_of(self, keys: dict[int, str], process: int) -> Iterator[Event]:
        """Yield events with the keys of their graphs."""
        for serial, number, event in self._events:
            if serial in keys:
                event.graph = keys[serial]
                event.process = process
                if number:
                    event.executable = f"{keys[serial]}/exec{number}"
                yield event

    def time(self, clock_ns: int | None) -> int | None:
        """Turn the process's clock into the recording's."""
        return None if clock_ns is None else clock_ns + self._offset_ns

    def take(self, line: _Line, offset: int, recording_start_ns: int) -> None:
        """Add one record.

        Raises
        ------
        FormatError
            The record contradicts what came before.
        """
        kind = line.kind
        if kind == "process":
            self._offset_ns = line.unix_ns - line.clock_ns - recording_start_ns
            self.started_ns = self.time(line.clock_ns) or 0
            self.process = Process(
                pid=line.pid,
                argv=line.argv,
                started_ns=self.started_ns,
                ended="lost",
                extra={"parent": line.parent, "cwd": line.cwd, "executable": line.executable},
            )
        elif kind == "warning":
            self._warn(line.text)
        elif self.process is None:
            raise FormatError("a record comes before the process is described")
        elif kind == "machine":
            self.process.argv = line.argv or self.process.argv
            self.process.versions = line.versions
            self.process.gpus = [load(Gpu, gpu, "gpu") for gpu in line.gpus]
        elif kind == "topology":
            document = msgspec.json.decode(line.document)
            self.topologies[line.digest] = load_topology(document, "topology")
        elif kind == "kernel":
            self.kernels.append(load(Kernel, msgspec.json.decode(line.document), "kernel"))
        elif kind in ("graph", "failed"):
            self._graph(line, offset)
        elif kind == "executable":
            self._executables[line.serial, line.number] = Executable(
                id="",
                graph="",
                instantiated_ns=self.time(line.at_ns),
                instantiate_duration_ns=line.duration_ns,
                note=line.note,
            )
        elif kind in ("replays", "executable_end"):
            item = self._executables.get((line.serial, line.number))
            if item is not None:
                item.replays = line.replays
                item.ended = line.ended
                item.ended_ns = self.time(line.at_ns)
        elif kind == "event":
            event = Event(
                kind=line.event,
                start_ns=self.time(line.start_ns) or 0,
                duration_ns=line.duration_ns or 0,
                count=line.count,
                thread=line.thread,
                detail=line.detail,
            )
            self._events.append((line.serial, line.number, event))
        elif kind == "runs":
            self._add_runs(line.rows)
        elif kind in STORED:
            self._stored(STORED[kind], line, offset)
        elif kind.removesuffix("_absent") in STORED:
            self._absent.setdefault((kind.removesuffix("_absent"), line.serial), line.text)
        elif kind == "tracing":
            self.untimed = line.text
        elif kind == "note":
            for entry in self.graphs:
                if entry.serial == line.serial:
                    entry.info.extra[line.name] = line.value
        elif kind == "end":
            self.process.ended = "exit"
            self.process.costs_ns = line.costs_ns
            self.process.versions = line.versions | self.process.versions
        else:
            self._warn(f"a record of kind {kind!r}, unknown to this version, was passed over")

    def _warn(self, text: str) -> None:
        if self.process is None:
            self.warnings.append(text)
        else:
            self.process.warnings.append(text)

    def _add_runs(self, rows: list[RunRow]) -> None:
        for serial, number, start_ns, duration_ns, count, thread in rows:
            event = self._runs.get((serial, number, start_ns))
            if event is None:
                event = Event(
                    kind=EventKind.REPLAY.value, start_ns=start_ns + self._offset_ns, thread=thread
                )
                self._runs[serial, number, start_ns] = event
                self._events.append((serial, number, event))
            event.duration_ns, event.count = duration_ns, count

    def _stored(self, kind: StoredKind, line: _Line, offset: int) -> None:
        """Remember where evidence is; of two for one owner the later one counts."""
        number = line.number if kind.owner == "executable" else 0
        item = decode_evidence(kind, msgspec.json.decode(line.document), kind.name)
        self._evidence[kind.name, line.serial, number] = EvidenceEntry(
            kind, line.serial, number, *kind.told(item), line.duration_ns, offset
        )

    def _graph(self, line: _Line, offset: int) -> None:
        info = load(GraphInfo, line.info, "info")
        info.started_ns = self.time(info.started_ns)
        has_nodes = bytes(line.document) != b"null"
        shape: Any = None
        if has_nodes:
            levels = msgspec.json.decode(line.document, type=_Levels).levels
            shape = tuple(
                (level.topology, level.parent, level.node, level.index) for level in levels
            )
        self.graphs.append(
            GraphEntry(line.serial, info, line.kind == "failed", has_nodes, offset, shape)
        )


def read_history(stream: BinaryIO, name: str, recording_start_ns: int) -> JournalHistory:
    """Read a journal as far as it makes sense.

    A last line that ends early is what a crash leaves: it is left out with a warning, as is any
    other line that cannot be read.
    """
    history = JournalHistory()
    decoder = msgspec.json.Decoder(_Line)
    offset = 0
    for number, line in enumerate(stream, start=1):
        try:
            if not line.endswith(b"\n"):
                raise FormatError("it ends in the middle of a record")
            history.take(decoder.decode(line), offset, recording_start_ns)
        except (FormatError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            history.warnings.append(f"{name} line {number} was left out: {error}")
        offset += len(line)
    return history
