"""What is computed from opened recordings, each thing when it is first asked for, and kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from capture.errors import FormatError
from capture.model import EvidenceKind, Recording

from .opened import LIMIT_BYTES, OpenRecordings
from .source_access import SourceAccess

if TYPE_CHECKING:
    from capture.analysis import Analysis, Result, Subject
    from capture.origin_index import OriginIndex

    from .finding_search import Search
    from .findings import Findings
    from .kernel_rows import KernelNodes
    from .measuring import Measurer
    from .node_times import NodeTimes
    from .origin_report import OriginReport
    from .picture import Picture

JOINED_BYTES = 400
"""Estimate of what a node joined with its timings holds: lists of numbers by position."""
ORIGIN_BYTES = 400
"""Estimate of what it holds besides when it is known where it comes from."""

FEW_GRAPHS, FEW_NODES = 200, 50_000
"""Up to so many graphs and nodes, looking at one graph looks for the findings of all."""
PATIENCE_S = 3.0
"""How long it waits for them."""


class Store(OpenRecordings):
    """Opened recordings and what was computed from them; safe to use from several threads.

    Parameters
    ----------
    recordings, limit_bytes, sources
        As of :class:`~graphviz_app.opened.OpenRecordings`.
    """

    def __init__(
        self,
        recordings: Sequence[tuple[str, Recording] | tuple[str, Recording, Path]],
        limit_bytes: int = LIMIT_BYTES,
        sources: SourceAccess | None = None,
    ) -> None:
        super().__init__(recordings, limit_bytes, sources)
        self._searches: dict[str, Search] = {}
        self.measurer: Measurer | None = None
        """Runs this session's own workload again; ``None`` where there is none to run."""
        self.takes_files = False
        """Whether the browser may hand over files: only that of this machine's user may."""

    def picture(self, recording: str, key: str, body: str = "", executable: str = "") -> Picture:
        """Return names, layout, colours and scene of a graph or body.

        `executable` is the id of the one whose timings are shown, here and in what follows;
        without it, the one that was traced most often.
        """
        from .picture import Picture

        id_ = self.get(recording).id
        graph = self.graph(id_, key, body)
        return self._memo.get(
            ("picture", id_, key, body, executable),
            lambda: Picture(
                graph,
                body,
                self._timed(id_, key, body, executable),
                self.origins(id_, key, body, executable),
            ),
            lambda picture: picture.size_bytes,
        )

    def _timed(self, recording: str, key: str, body: str, executable: str) -> NodeTimes | None:
        from .node_times import NodeTimes

        opened = self.get(recording)
        timed = set(opened.recording.timed)
        if not any(item.id in timed for item in opened.recording.executables_of(key)):
            return None
        try:
            subject = self.subject(recording, key, body, executable)
        except FormatError:
            return None  # the panel says that the timings are damaged; the graph is not
        if not subject.is_timed:
            return None
        return NodeTimes.of(subject, self.result(recording, key, body, "critical_path", executable))

    def origins(
        self, recording: str, key: str, body: str = "", executable: str = ""
    ) -> OriginIndex | None:
        """Return where the nodes of a graph or body come from; ``None`` if that is not known."""
        try:
            return self.subject(recording, key, body, executable).origin_index
        except FormatError:
            return None  # the timings are damaged, as the panel says

    def by_origin(
        self, recording: str, key: str, body: str = "", executable: str = ""
    ) -> OriginReport | None:
        """Return what nodes cost by where they come from; ``None`` if that is not known."""
        from .origin_report import OriginReport

        opened = self.get(recording)
        index = self.origins(opened.id, key, body, executable)
        if index is None:
            return None
        subject = self.subject(opened.id, key, body, executable)
        return self._memo.get(
            ("by origin", opened.id, key, body, executable),
            lambda: OriginReport(index, subject),
            lambda report: report.size_bytes,
        )

    def origins_reason(self, recording: str, key: str, body: str = "", executable: str = "") -> str:
        """Return why there are no origins, as a sentence; empty where there are."""
        try:
            subject = self.subject(recording, key, body, executable)
        except FormatError as error:
            return f"No origins: the timings beside them cannot be read: {error}."
        reason = subject.lacks(EvidenceKind.ORIGINS)
        return f"No origins: {reason.rstrip('.')}." if reason else ""

    def subject(self, recording: str, key: str, body: str = "", executable: str = "") -> Subject:
        """Return a graph or body joined with its timings, as analyses take it."""
        from .subjects import subject_of

        opened = self.get(recording)
        graph = self.graph(opened.id, key, body)

        def join() -> Subject:
            with self.reading:
                return subject_of(opened.recording, key, graph, body, executable)

        return self._memo.get(
            ("subject", opened.id, key, body, executable),
            join,
            lambda subject: (
                (JOINED_BYTES if subject.origins is None else JOINED_BYTES + ORIGIN_BYTES)
                * len(graph)
            ),
        )

    def result(
        self, recording: str, key: str, body: str, analysis: str, executable: str = ""
    ) -> Result:
        """Return what an analysis of one graph or body finds, with its default arguments."""
        from capture.analysis import run_analysis

        opened = self.get(recording)
        subject = self.subject(opened.id, key, body, executable)
        return self._memo.get(
            ("result", opened.id, key, body, analysis, executable),
            lambda: run_analysis(analysis, subject),
            lambda result: 1_000 + 150 * len(result.node_values) + 400 * len(result.rows),
        )

    def recording_result(self, recording: str, analysis: str) -> Result:
        """Return what an analysis of a whole recording finds, with its default arguments."""
        from capture.analysis import run_analysis

        opened = self.get(recording)

        def run() -> Result:
            with self.reading:
                return run_analysis(analysis, opened.recording)

        return self._memo.get(
            ("recording result", opened.id, analysis),
            run,
            lambda result: 1_000 + 800 * len(result.rows),
        )

    def findings(self, recording: str) -> Search:
        """Return the search for findings of a recording, which begins when first asked for."""
        from .finding_search import Search
        from .findings import Findings

        opened = self.get(recording)
        with self._adding:
            found = self._searches.get(opened.id)
            if found is None:
                found = Search(Findings(opened.recording), lambda: self.reading)
                self._searches[opened.id] = found
            return found

    def known_findings(self, recording: str, patience_s: float) -> Findings | None:
        """Return the findings of a recording once all are known, else ``None``.

        A recording of few graphs is searched now; of others what was searched before counts.
        """
        opened = self.get(recording)
        graphs = opened.recording.graphs.values()
        if len(graphs) <= FEW_GRAPHS and sum(info.node_count for info in graphs) <= FEW_NODES:
            self.findings(opened.id).done.wait(patience_s)
        search = self._searches.get(opened.id)
        return search.findings if search is not None and search.done.is_set() else None

    def marks(self, recording: str, key: str) -> dict[str, tuple[Analysis, Result]]:
        """Return the results about a graph that hold findings, by name of their analysis.

        Those of the graph are computed. Findings between graphs take a search of the whole
        recording: one of few graphs is searched for them, of others what is known by now is taken.
        """
        from capture.analysis.found import lean_subject

        from .findings import marks_of

        opened = self.get(recording)
        found = self.known_findings(opened.id, PATIENCE_S)
        try:
            subject = self.subject(opened.id, key)
        except FormatError:  # of timings, which findings do not need
            with self.reading:
                subject = lean_subject(opened.recording, key)
        return self._memo.get(
            ("marks", opened.id, key, found is not None),
            lambda: marks_of(subject, found),
            lambda made: 1_000 + sum(400 * len(result.rows) for _, result in made.values()),
        )

    def find(
        self, recording: str, key: str, body: str, query: str, executable: str = ""
    ) -> list[int]:
        """Return the positions of the nodes of a graph or body that a search finds.

        ``marks:NAME`` finds the nodes that stand out in what the analysis of that name found,
        ``free:SELECTION`` those that :func:`capture.selection.select` finds, ``block:0x7f…`` those
        that point into the block of memory that begins there; all else is
        :meth:`graphviz_app.search.Index.find`.
        """
        from capture.analysis import Scope, analyses
        from capture.selection import select

        field, _, name = query.strip().partition(":")
        entry = analyses().get(name) if field == "marks" else None
        if entry is not None and entry.scope is Scope.GRAPH:
            return sorted(self.result(recording, key, body, name, executable).node_marks)
        if field == "block":
            from .memory_rows import positions_in

            start = int(name, 16) if re.fullmatch(r"(0x)?[0-9a-fA-F]{1,16}", name) else -1
            return positions_in(self.subject(recording, key, body, executable), start)
        if field == "free":
            return select(self.graph(recording, key, body), name)
        picture = self.picture(recording, key, body, executable)
        found: list[int] = picture.index.find(query).tolist()
        return found

    def kernels(self, recording: str, key: str, executable: str = "") -> KernelNodes:
        """Return the kernel nodes of a graph with their times and launches as arrays."""
        from .kernel_rows import KernelNodes

        opened = self.get(recording)
        picture = self.picture(opened.id, key, "", executable)
        subject = self.subject(opened.id, key, "", executable)
        return self._memo.get(
            ("kernels", opened.id, key, executable),
            lambda: KernelNodes.of(picture, subject),
            lambda kernels: kernels.size_bytes,
        )

    def replay(self, recording: str, key: str, executable: str = "") -> bytes:
        """Return the sample replay of a graph as the browser reads it."""
        from .figures.replay import encode_replay

        opened = self.get(recording)
        subject = self.subject(opened.id, key, "", executable)
        marks = self.result(opened.id, key, "", "critical_path", executable).node_marks
        return self._memo.get(
            ("replay", opened.id, key, executable), lambda: encode_replay(subject, marks), len
        )
