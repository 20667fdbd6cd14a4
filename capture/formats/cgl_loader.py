"""Parts of a packed recording, loaded when they are asked for."""

from __future__ import annotations

from typing import Any

import msgspec

from ..columns import unpack_records
from ..errors import FormatError
from ..evidence import StoredKind
from ..model import Event, Graph, Kernel, Topology
from . import documents
from .archive import Archive

KERNELS = "kernels.json"
TIMELINE = "timeline.json"
TEXTS = "texts/"
SHARED = "shared_texts"
"""Field of a document with the digests of its texts, by field and name."""


class Loader:
    """Loads parts of one file when they are asked for.

    Parameters
    ----------
    archive : Archive
    places : dict of str to str
        Members that hold graphs, by key.
    """

    def __init__(self, archive: Archive, places: dict[str, str]) -> None:
        self._archive = archive
        self._places = places
        self._kernels: list[Kernel] | None = None
        self._topologies = _Topologies(archive)

    def graph(self, key: str) -> Graph:
        """Return a graph; raises FormatError where it was not read or is damaged."""
        from ..codec import decode_graph, load

        archive = self._archive
        place = self._places.get(key)
        if place is None:
            raise FormatError(f"{archive.path} has no nodes of graph {key!r}: they were not read")
        where = f"{archive.path}: {place}"
        if self._kernels is None:
            table = self._decode(KERNELS) if KERNELS in archive else []
            if not isinstance(table, list):
                raise FormatError(f"{archive.path}: {KERNELS} is no list")
            self._kernels = [load(Kernel, item, f"{KERNELS}[{i}]") for i, item in enumerate(table)]
        return decode_graph(self._decode(place), self._topologies, self._kernels, where)

    def timeline(self) -> list[Event]:
        """Return the events; raises FormatError where they are damaged."""
        if TIMELINE not in self._archive:
            return []
        where = f"{self._archive.path}: {TIMELINE}"
        document = self._decode(TIMELINE)
        if not isinstance(document, dict) or type(document.get("count")) is not int:
            raise FormatError(f"{where} has no number of events")
        rows = unpack_records(document.get("columns"), max(0, document["count"]), where)
        try:
            return msgspec.convert(rows, list[Event])
        except (msgspec.ValidationError, RecursionError) as error:
            raise FormatError(f"{where}: {error}") from error

    def evidence(self, kind: StoredKind, owner: str, place: str) -> Any:
        """Return what is stored of a kind at a place; raises FormatError where it is damaged."""
        from ..codec import decode_evidence

        where = f"{self._archive.path}: {place}"
        document = self._decode(place)
        if kind.texts and isinstance(document, dict):
            document = self._with_texts(kind, document, where)
        item = decode_evidence(kind, document, where)
        documents.check_owner(kind, item, owner, where)
        return item

    def _with_texts(self, kind: StoredKind, document: dict[str, Any], where: str) -> dict[str, Any]:
        """Put texts that are members of their own into their place."""
        shared = documents.field(document, SHARED, dict, where)
        document = {name: value for name, value in document.items() if name != SHARED}
        for name in kind.texts:
            digests = documents.field(shared, name, dict, f"{where}.{SHARED}")
            if digests:
                inline = documents.field(document, name, dict, where)
                texts = {
                    file: self._decode(f"{TEXTS}{digest}.json") for file, digest in digests.items()
                }
                document[name] = {**inline, **texts}
        return document

    def _decode(self, name: str) -> Any:
        return documents.decode(self._archive.read(name), f"{self._archive.path}: {name}")


class _Topologies(dict[str, Topology]):
    """Topologies by digest, each loaded once, so that graphs share them."""

    def __init__(self, archive: Archive) -> None:
        super().__init__()
        self._archive = archive

    def get(self, key: str, default: Any = None) -> Any:
        from ..codec import load_topology

        found = super().get(key)
        name = f"topologies/{key}.json"
        if found is None and name in self._archive:
            where = f"{self._archive.path}: {name}"
            document = documents.decode(self._archive.read(name), where)
            found = self[key] = load_topology(document, where)
        return default if found is None else found
