"""The packed recording, ``.cgl``: a zip in which every graph opens alone.

::

    recording.json            marker, version, metadata, infos, executables, processes
    kernels.json              the kernels of all graphs
    topologies/<digest>.json  types and edges of one level, shared by graphs
    graphs/<n>.json           one graph: payloads as columns (capture.codec)
    timeline.json             events as columns
    timings/<n>.json          node timings of one executable, as columns
    benchmarks/<n>.json       replays of our own of one graph
    origins/<n>.json          where the nodes of one graph come from, as columns
    memory/<n>.json           memory of one graph, as columns
    snapshots/<n>.json        all that the allocator held in one process, as columns
    texts/<digest>.json       one long text, such as a source file, shared by these documents

Reading looks at ``recording.json`` alone; the rest is read when asked for. Members and fields that
this version does not know are kept and written back.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from ..columns import pack_records
from ..errors import FormatError
from ..evidence import STORED, StoredKind
from ..model import (
    Executable,
    Graph,
    GraphInfo,
    Metadata,
    Process,
    Recording,
)
from . import documents
from .archive import Archive
from .base import Format
from .cgl_loader import KERNELS, SHARED, TEXTS, TIMELINE, Loader

MANIFEST = "recording.json"

_EPOCH = (1980, 1, 1, 0, 0, 0)
_KNOWN_FIELDS = frozenset(
    [
        "format",
        "version",
        "written_by",
        "metadata",
        "graphs",
        "failed",
        "executables",
        "processes",
        "documents",
        *STORED,
    ]
)


class PackedRecording(Recording):
    """A recording read from a ``.cgl`` file.

    Attributes
    ----------
    members : dict of str to callable
        Readers of the members that this version does not know, by name.
    """

    members: dict[str, Callable[[], bytes]]


def sniff(head: bytes, path: Path) -> int:
    """Recognise any zip; what is in it is looked at by `read`."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return 90 if path.suffix == ".cgl" else 50
    return 1 if path.suffix == ".cgl" else 0


def read(path: Path) -> Recording:
    """Open a packed recording; graphs and timeline load when they are asked for.

    Raises
    ------
    FormatError
        It is damaged, too large, newer than this version, or no recording.
    """
    from ..codec import load

    archive = Archive(path)
    if MANIFEST not in archive:
        raise FormatError(
            f"{path} is a zip file without {MANIFEST}, so it is no recording: "
            f"expected a file that `cglens record` made"
        )
    where = f"{path}: {MANIFEST}"
    manifest = documents.decode(archive.read(MANIFEST), where)
    documents.check_marker(manifest, where)
    lists = {
        name: documents.field(manifest, name, list, where)
        for name in ("graphs", "failed", "executables", "processes")
    }
    infos = {
        name: [load(GraphInfo, item, f"{where} {name}[{i}]") for i, item in enumerate(lists[name])]
        for name in ("graphs", "failed")
    }
    documents.check_keys([info.key for info in infos["graphs"] + infos["failed"]], str(path))
    places = _places(manifest, "documents", where)
    stored = {name: _places(manifest, name, where) for name in STORED}
    loader = Loader(archive, places)
    recording = PackedRecording(
        load(Metadata, documents.field(manifest, "metadata", dict, where), f"{where}.metadata"),
        infos["graphs"],
        infos["failed"],
        executables=[
            load(Executable, item, f"{where} executables") for item in lists["executables"]
        ],
        processes=[load(Process, item, f"{where} processes") for item in lists["processes"]],
        load=loader.graph,
        timeline=loader.timeline,
        evidence={
            name: {
                owner: partial(loader.evidence, STORED[name], owner, place)
                for owner, place in found.items()
            }
            for name, found in stored.items()
        },
        extra={name: value for name, value in manifest.items() if name not in _KNOWN_FIELDS},
    )
    known = {MANIFEST, KERNELS, TIMELINE, *places.values()}.union(
        *(found.values() for found in stored.values())
    )
    recording.members = {
        name: partial(archive.read, name)
        for name in archive.names()
        if name not in known and not name.startswith(("topologies/", TEXTS))
    }
    return recording


def _places(manifest: dict[str, Any], name: str, where: str) -> dict[str, str]:
    """Return names of members by what they hold."""
    places: dict[str, str] = documents.field(manifest, name, dict, where)
    if not all(isinstance(place, str) for place in places.values()):
        raise FormatError(f"{where}.{name} has a place that is no text")
    return places


def write(recording: Recording, stream: BinaryIO, keys: Sequence[str]) -> None:
    """Write the graphs of `keys` with everything that belongs to them.

    Equal recordings give equal bytes. Members that were not understood are copied when all graphs
    are written, since nobody knows to which graph they belong.
    """
    from ..codec import Tables, dump, encode_evidence, encode_graph

    wanted = set(keys)
    everything = wanted >= {*recording.graphs, *recording.failed}
    tables = Tables()
    places: dict[str, str] = {}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for key in keys:
            loaded = recording.is_loaded(key)
            graph = stored_graph(recording, key)
            if graph is None:
                continue
            places[key] = f"graphs/{len(places)}.json"
            _put(archive, places[key], encode_graph(graph, tables))
            if not loaded:
                recording.forget(key)
        for digest, topology in tables.topologies.items():
            _put(archive, f"topologies/{digest}.json", topology)
        _put(archive, KERNELS, tables.kernels)
        executables = [item for item in recording.executables if everything or item.graph in wanted]
        processes = len(recording.processes) if everything else 0
        stored: dict[str, dict[str, str]] = {}
        for kind in STORED.values():
            found = stored[kind.name] = {}
            for owner in documents.owners(kind, keys, executables, processes):
                item = recording.evidence(kind.name, owner, keep=False)
                if item is not None:
                    found[owner] = f"{kind.name}/{len(found)}.json"
                    document = encode_evidence(kind, item)
                    _put_texts(archive, kind, document)
                    _put(archive, found[owner], document)
        events = [event for event in recording.timeline if everything or event.graph in wanted]
        rows = [msgspec.to_builtins(event) for event in events]
        _put(archive, TIMELINE, {"count": len(rows), "columns": pack_records(rows)})
        manifest = {
            **recording.extra,
            "format": documents.MARKER,
            "version": documents.VERSION,
            "written_by": product_version(),
            "metadata": dump(recording.metadata),
            "graphs": [dump(i) for key, i in recording.graphs.items() if key in wanted],
            "failed": [dump(i) for key, i in recording.failed.items() if key in wanted],
            "executables": [dump(item) for item in executables],
            "processes": [dump(process) for process in recording.processes],
            "documents": places,
            **stored,
        }
        _put(archive, MANIFEST, manifest)
        if everything and isinstance(recording, PackedRecording):
            for name, content in sorted(recording.members.items()):
                _put_bytes(archive, name, content())


def stored_graph(recording: Recording, key: str) -> Graph | None:
    """Return a graph, or ``None`` for a failed capture whose nodes could not be read."""
    info = recording.info(key)
    if info.failure is not None and not info.failure.nodes_read:
        return None
    return recording.graph(key)


def product_version() -> str:
    """Return the installed version, or empty text in a source tree that is not installed."""
    from importlib import metadata

    try:
        return metadata.version("cudagraph-lens")
    except metadata.PackageNotFoundError:
        return ""


def _put_texts(archive: zipfile.ZipFile, kind: StoredKind, document: dict[str, Any]) -> None:
    """Write the texts of a document as members of their own, equal ones once."""
    shared: dict[str, dict[str, str]] = {}
    for name in kind.texts:
        for file, text in document.pop(name, {}).items():
            content = documents.encode(text)
            digest = hashlib.sha256(content).hexdigest()[:16]
            member = f"{TEXTS}{digest}.json"
            if member not in archive.NameToInfo:
                _put_bytes(archive, member, content)
            shared.setdefault(name, {})[file] = digest
    if shared:
        document[SHARED] = shared


def _put(archive: zipfile.ZipFile, name: str, document: Any) -> None:
    _put_bytes(archive, name, documents.encode(document))


def _put_bytes(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name, _EPOCH)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    member.create_system = 3
    archive.writestr(member, content)


FORMAT = Format(
    name="cgl",
    extensions=(".cgl",),
    description="the packed recording: everything that was recorded, any graph opens alone",
    sniff=sniff,
    read=read,
    write=write,
)
