"""One destination of what a process observes: a journal with the tables its graphs share."""

from __future__ import annotations

import os
import sys
import time
from itertools import islice
from typing import Any

from ..codec import Tables, dump, encode_graph
from ..model import Graph, GraphInfo
from .folder import process_identity
from .journal import Journal
from .timeline import RunRow


class Sink:
    """Writes records of one process to one journal.

    Only graphs that this sink was given have a meaning in its journal; events of others
    (captured before ``record()`` was entered) are counted and left out.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.foreign_replays = 0
        self._kernels_written = 0
        self._topologies_written = 0
        self.serials: set[int] = set()
        self._tables = Tables()
        self._described = False
        self._opened = False

    def open(self) -> None:
        """Write who we are."""
        self._opened = True
        self.journal.write(
            "process",
            pid=os.getpid(),
            parent=os.getppid(),
            argv=list(getattr(sys, "argv", [])),
            cwd=_cwd(),
            unix_ns=time.time_ns(),
            clock_ns=time.perf_counter_ns(),
            python=sys.version.split()[0],
            executable=sys.executable,
            identity=process_identity(os.getpid()),
        )

    def _put(self, kind: str, **fields: Any) -> None:
        if not self._opened:
            self.open()
        self.journal.write(kind, **fields)

    def machine(self, versions: dict[str, str], gpus: list[Any], warnings: list[str]) -> None:
        """Write what runs here, once."""
        if self._described:
            return
        self._described = True
        self._put(
            "machine",
            argv=list(getattr(sys, "argv", [])),
            versions=versions,
            gpus=[dump(gpu) for gpu in gpus],
        )
        for text in warnings:
            self.warning(text)

    def graph(self, serial: int, info: GraphInfo, graph: Graph | None, failed: bool) -> None:
        """Write a captured graph or a failed capture, with what of its tables is new."""
        document = None
        if graph is not None:
            document = encode_graph(graph, self._tables)
            self._write_tables()
        self.serials.add(serial)
        self._put(
            "failed" if failed else "graph",
            serial=serial,
            info=dump(info),
            document=document,
        )

    def _write_tables(self) -> None:
        """Write what is new in the tables; what is in the journal is not kept in memory."""
        topologies, kernels = self._tables.topologies, self._tables.kernels
        for digest in list(islice(topologies, self._topologies_written, None)):
            self._put("topology", digest=digest, document=topologies[digest])
            topologies[digest] = {}
        self._topologies_written = len(topologies)
        for place in range(self._kernels_written, len(kernels)):
            self._put("kernel", document=kernels[place])
            kernels[place] = {}
        self._kernels_written = len(kernels)
        self._tables.release()

    def runs(self, rows: list[RunRow]) -> None:
        """Write runs of replays; a run may come again when it is longer."""
        known = [row for row in rows if row[0] in self.serials]
        if known:
            self._put("runs", rows=known)

    def write(self, kind: str, serial: int, **fields: Any) -> None:
        """Write a record about a graph that this sink knows."""
        if serial in self.serials:
            self._put(kind, serial=serial, **fields)

    def write_process(self, kind: str, **fields: Any) -> None:
        """Write a record about the process itself."""
        if self._opened:
            self._put(kind, **fields)

    def warning(self, text: str) -> None:
        """Write something the user should know."""
        self._put("warning", text=text)

    def tracing(self, reason: str) -> None:
        """Write why node timings are missing where no executable says more."""
        if self._opened and reason:
            self._put("tracing", text=reason)

    def close(self, clock_ns: int, costs_ns: dict[str, int]) -> None:
        """Write the end, unless nothing was ever written."""
        if self._opened:
            self._put("end", clock_ns=clock_ns, costs_ns=costs_ns, versions=_torch_versions())
        self.journal.close()

    def restart(self) -> None:
        """Begin anew in a forked child."""
        self.journal.reopen()
        # Made by __init__ alone: nothing of the parent's tables is in the child's journal.
        self.__init__(self.journal)  # type: ignore[misc]


def _torch_versions() -> dict[str, str]:
    """Return what torch says of itself, where it was imported; costs nothing."""
    torch = sys.modules.get("torch")
    found = {
        "torch": getattr(torch, "__version__", None),
        "torch_cuda": getattr(getattr(torch, "version", None), "cuda", None),
    }
    return {name: str(value) for name, value in found.items() if value}


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
