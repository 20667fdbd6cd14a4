"""A folder of journals becomes a recording: on normal exit, after a crash and in recovery alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from ..codec import decode_evidence, decode_graph
from ..errors import FormatError, LookupFailed
from ..evidence import STORED
from ..formats.summary import summarise
from ..model import (
    Event,
    Evidence,
    EvidenceKind,
    Executable,
    Graph,
    GraphInfo,
    Metadata,
    Process,
    Recording,
)
from .folder import journals, read_exit, read_manifest
from .history import EvidenceEntry, JournalHistory, read_history

UNSEEN = "recovered: nobody saw how the workload ended"
ABSENT = {
    EvidenceKind.CAPTURE: "it was read from a handle: how it came about was not seen",
    EvidenceKind.TIMINGS: "no replay was traced, or the process ended before its records were read",
    EvidenceKind.ORIGINS: "source lines and operators of nodes were not recorded: they are taken "
    "while a graph is captured through torch, unless they are switched off",
    EvidenceKind.MEMORY: "memory was not recorded: it is looked at only on request; "
    "ask for it with `cglens record --memory`",
    EvidenceKind.BENCHMARKS: "nothing was benchmarked: replays of our own run only on request; "
    "ask for them with `cglens bench`",
    EvidenceKind.UPDATES: "the driver was not asked of updates: that takes executables of our own; "
    "ask for it with `cglens series --ask-driver`",
    EvidenceKind.WRITES: "what nodes write was not measured: that takes replays of our own; "
    "ask for it with `cglens record --writes`",
}
"""Why evidence is absent where nobody said more."""


Opener = Callable[[], BinaryIO]


class _Source:
    """Where a graph's document is, for when somebody looks at it."""

    __slots__ = ("history", "offset", "open")

    def __init__(self, open_: Opener, offset: int, history: JournalHistory) -> None:
        self.open = open_
        self.offset = offset
        self.history = history

    def graph(self, key: str) -> Graph:
        document = _document_at(self.open, self.offset)
        return decode_graph(document, self.history.topologies, self.history.kernels, key)


def _document_at(opener: Opener, offset: int) -> Any:
    with opener() as stream:
        stream.seek(offset)
        line = stream.readline()
    return msgspec.json.decode(line)["document"]


def _evidence_at(opener: Opener, entry: EvidenceEntry, keys: dict[int, str], process: int) -> Any:
    """Load evidence, with the key of its graph in place of its serial."""
    owner = entry.owner(keys, process)
    item = decode_evidence(entry.kind, _document_at(opener, entry.offset), owner)
    if entry.kind.owner != "process":
        item.graph = keys[entry.serial]
    setattr(item, entry.kind.owner, owner)
    entry.kind.name_graphs(item, keys)
    return item


def assemble(folder: Path) -> Recording:
    """Make the recording of a folder, complete or not.

    Graphs stay in the folder's journals until they are looked at.

    Parameters
    ----------
    folder : Path
        With a manifest and one journal per process.

    Raises
    ------
    FormatError
        The folder is none of a recording.
    """
    manifest = read_manifest(folder)
    ended = read_exit(folder)
    metadata = Metadata(
        command=[str(word) for word in manifest.get("command", [])],
        started_unix_ns=_integer(manifest.get("started_unix_ns")),
        product_version=str(manifest.get("written_by", "")),
        source="recorded",
        exit_code=_integer(ended.get("exit_code")),
    )
    metadata.title = title_of(metadata.command)
    start, end = metadata.started_unix_ns, _integer(ended.get("ended_unix_ns"))
    if start is not None and end is not None:
        metadata.duration_ns = max(0, end - start)
    if not ended:
        metadata.complete = False
        metadata.warnings.append(UNSEEN)
    sources = [(path.name, _opener(path)) for path in journals(folder)]
    return assemble_journals(metadata, sources)


def title_of(command: list[str]) -> str:
    """Return a short title for a command: its script, function, or module with first argument.

    Examples
    --------
    >>> title_of(["-m", "tests.workloads", "gpt_train"]), title_of(["dir/step.py", "--fast"])
    ('tests.workloads gpt_train', 'step.py')
    """
    if not command:
        return ""
    if command[0] == "-m" and len(command) > 1:
        # One module may hold many workloads, chosen by its first argument.
        return " ".join(part for part in command[1:3] if not part.startswith("-"))
    return Path(command[0]).name


def assemble_journals(metadata: Metadata, sources: list[tuple[str, Opener]]) -> Recording:
    """Make a recording of journals, each a name and a function that opens it."""
    histories: list[tuple[JournalHistory, Opener]] = []
    start = metadata.started_unix_ns or 0
    for name, opener in sources:
        with opener() as stream:
            history = read_history(stream, name, start)
        metadata.warnings.extend(history.warnings)
        if history.process is not None:
            histories.append((history, opener))
    # Processes that only imported torch (compile workers, data loaders) are not worth a line.
    telling = [item for item in histories if item[0].tells_something] or histories[:1]
    telling.sort(key=lambda item: item[0].started_ns)
    recording = _merge(metadata, telling)
    if any(history.process and history.process.ended == "lost" for history, _ in telling):
        metadata.complete = False
    return recording


def _merge(metadata: Metadata, histories: list[tuple[JournalHistory, Opener]]) -> Recording:
    graphs: list[GraphInfo] = []
    failed: list[GraphInfo] = []
    places: dict[str, _Source] = {}
    summaries: dict[Any, Any] = {}
    events: list[Event] = []
    executables: list[Executable] = []
    processes: list[Process] = []
    stored: dict[str, dict[str, Any]] = {kind: {} for kind in STORED}
    found: dict[tuple[str, str], Evidence] = {}
    taken: set[str] = set()
    for number, (history, opener) in enumerate(histories):
        assert history.process is not None
        processes.append(history.process)
        keys: dict[int, str] = {}
        for entry in history.graphs:
            info = entry.info
            info.process = number
            info.key = keys[entry.serial] = _unique(info.key, taken)
            if entry.has_nodes:
                source = places[info.key] = _Source(opener, entry.offset, history)
                try:
                    _summarise(info, source, entry.shape, summaries)
                except (FormatError, KeyError, TypeError, msgspec.MsgspecError) as error:
                    metadata.warnings.append(f"graph {info.key} is damaged: {error}")
                    del places[info.key], keys[entry.serial]
                    continue
            for kind in STORED.values():
                reason = history.why_absent(kind.name, entry.serial)
                if reason:
                    info.evidence[kind.name] = Evidence(
                        present=False, reason=f"{kind.noun} were not recorded: {reason}"
                    )
            for absent, reason in ABSENT.items():
                info.evidence.setdefault(absent.value, Evidence(present=False, reason=reason))
            (failed if entry.failed else graphs).append(info)
        for item in history.evidence_of(keys):
            load_item = partial(_evidence_at, opener, item, keys, number)
            stored[item.kind.name][item.owner(keys, number)] = load_item
            if item.kind.owner == "process":
                continue
            found[item.kind.name, keys[item.serial]] = Evidence(
                present=not item.reason, how=item.how, cost_ns=item.cost_ns, reason=item.reason
            )
        executables.extend(history.executables_of(keys, number))
        events.extend(history.events_of(keys, number))
    for info in [*graphs, *failed]:
        for name in STORED:
            evidence = found.get((name, info.key))
            if evidence is not None:
                noted = info.evidence[name]  # the recorder may have noted what it cost already
                if evidence.cost_ns is None and noted.present:
                    evidence.cost_ns = noted.cost_ns
                info.evidence[name] = evidence
    graphs.sort(key=lambda info: info.started_ns or 0)
    failed.sort(key=lambda info: info.started_ns or 0)
    events.sort(key=lambda event: event.start_ns)

    def load(key: str) -> Graph:
        source = places.get(key)
        if source is None:
            info = next((info for info in failed if info.key == key), None)
            reason = info.failure.reason if info is not None and info.failure else ""
            raise LookupFailed(f"the nodes of {key!r} could not be read: {reason or 'unknown why'}")
        return source.graph(key)

    return Recording(
        metadata,
        graphs,
        failed,
        executables=executables,
        processes=processes,
        load=load,
        timeline=events,
        evidence=stored,
    )


_COUNTS = (
    "node_count",
    "edge_count",
    "body_count",
    "type_counts",
    "width",
    "depth",
    "topology",
)


def _summarise(
    info: GraphInfo, source: _Source, shape: Any, summaries: dict[Any, GraphInfo]
) -> None:
    """Count nodes, levels and types; graphs of equal shape are counted once."""
    known = summaries.get(shape)
    if known is None:
        summarise(info, source.graph(info.key))
        summaries[shape] = info
        return
    for name in _COUNTS:
        setattr(info, name, getattr(known, name))


def _unique(key: str, taken: set[str]) -> str:
    candidate, number = key, 1
    while candidate in taken:
        number += 1
        candidate = f"{key}@{number}"
    taken.add(candidate)
    return candidate


def _opener(path: Path) -> Callable[[], BinaryIO]:
    return lambda: path.open("rb")


def _integer(value: Any) -> int | None:
    return value if type(value) is int else None
