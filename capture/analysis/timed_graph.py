"""A graph with its timings joined to the positions of its nodes."""

from __future__ import annotations

from functools import cached_property
from operator import add
from statistics import median
from typing import TYPE_CHECKING

from ..errors import LookupFailed
from ..model import Graph
from .graph_part import GraphPart
from .joined import Interval, JoinedRows, join_rows
from .labels import label_of

if TYPE_CHECKING:
    from ..timings import Timings


class TimedGraph(GraphPart):
    """A graph, or one body of it, with the times of its nodes by position.

    Parameters
    ----------
    graph, path
        As of :class:`~capture.analysis.graph_part.GraphPart`.
    timings : Timings, optional
        Of the whole graph.
    """

    def __init__(self, graph: Graph, path: str = "", timings: Timings | None = None) -> None:
        GraphPart.__init__(self, graph, path)
        self.timings = timings

    def column(self, name: str) -> list[int]:
        """Return a column of the timings, or ``[]`` when it is not there for every row."""
        if self.timings is None:
            return []
        values: list[int] = getattr(self.timings, name)
        return values if len(values) == len(self.timings.node) else []

    @cached_property
    def _joined(self) -> JoinedRows:
        names = self.timings.node if self.timings is not None else []
        return join_rows(self.graph, names, self.path)

    @property
    def is_timed(self) -> bool:
        """Whether any node has a duration."""
        return any(duration is not None for duration in self.durations)

    @property
    def first_rows(self) -> list[int]:
        """The first row of the timings per position; -1 where there is none."""
        return self._joined.first

    def rows_of(self, position: int) -> list[int]:
        """Return the rows of a node's timings; for a node with bodies, those of its bodies."""
        first, several, _ = self._joined[:3]
        return several.get(position) or ([first[position]] if first[position] >= 0 else [])

    @cached_property
    def durations(self) -> list[int | None]:
        """Nanoseconds per position; ``None`` where a node was not timed.

        The median over replays. A node with several rows (a memcpy that became two, or the nodes of
        a body) takes from the first start to the last end of the sample replay; where that is not
        known, the sum of the rows' medians.
        """
        medians = self.column("median_ns") or self.column("sample_duration_ns")
        found: list[int | None] = [None] * len(self.graph)
        if not medians:
            return found
        first, several, _ = self._joined[:3]
        if self._joined.is_plain and min(medians) >= 0:
            return [*medians]
        # A negative number is no duration, whatever wrote the file.
        found = [medians[row] if row >= 0 and medians[row] >= 0 else None for row in first]
        for position, rows in several.items():
            span = self._span(rows)
            timed = [medians[row] for row in rows if medians[row] >= 0]
            if span is not None and self.starts_from == "sample":
                found[position] = span[1] - span[0]
            else:
                found[position] = sum(timed) if timed else None
        return found

    @cached_property
    def starts_from(self) -> str:
        """Where starts come from: ``"sample"`` replay, ``"medians"`` over replays, or ``""``."""
        if self.column("sample_start_ns") and self.column("sample_duration_ns"):
            return "sample"
        return "medians" if self.column("start_ns") and self.column("median_ns") else ""

    @cached_property
    def _rows(self) -> tuple[list[int], list[int]]:
        """Start and end of every row; start -1 where the row did not run."""
        if self.starts_from == "sample":
            starts, durations = self.column("sample_start_ns"), self.column("sample_duration_ns")
        elif self.starts_from == "medians":
            starts, durations = self.column("start_ns"), self.column("median_ns")
        else:
            return [], []
        if min(durations) < 0:
            durations = [max(duration, 0) for duration in durations]
        ends = list(map(add, starts, durations))
        if self.starts_from == "sample":
            last = self.column("sample_end_ns")
            ends = list(map(max, ends, last)) if last else ends
        return starts, ends

    def _span(self, rows: list[int]) -> tuple[int, int] | None:
        starts, ends = self._rows
        ran = [row for row in rows if starts and starts[row] >= 0]
        if not ran:
            return None
        return min(starts[row] for row in ran), max(ends[row] for row in ran)

    @cached_property
    def _seen(self) -> tuple[list[int], list[int]]:
        starts, ends = self._rows
        first, several, _ = self._joined[:3]
        if not starts:
            return [-1] * len(first), [-1] * len(first)
        if self._joined.is_plain and min(starts) >= 0:
            return starts, ends
        # One value more, which the rows of nodes that have none (-1) find.
        starts = [*(start if start >= 0 else -1 for start in starts), -1]
        ends = [*(end if starts[row] >= 0 else -1 for row, end in enumerate(ends)), -1]
        begun, ended = [starts[row] for row in first], [ends[row] for row in first]
        for position, rows in several.items():
            begun[position], ended[position] = self._span(rows) or (-1, -1)
        return begun, ended

    @property
    def starts(self) -> list[int]:
        """Start per position in one replay; -1 where the node was not seen in it."""
        return self._seen[0]

    @property
    def ends(self) -> list[int]:
        """End per position in one replay; -1 where the node was not seen in it."""
        return self._seen[1]

    @cached_property
    def intervals(self) -> list[Interval]:
        """Every row as it ran in one replay, by start; rows of bodies and of no node included.

        What ran several times is one interval with all else below the same node: a loop is busy
        from its first start to its last end.
        """
        starts, ends = self._rows
        first, several, apart = self._joined[:3]
        if not starts:
            return []
        runs = self.column("sample_runs")
        places = [(position, row) for position, row in enumerate(first) if row >= 0]
        looped = {}
        for position, rows in several.items():
            if runs and max(runs[row] for row in rows) > 1:
                looped[position] = self._span(rows)
            else:
                places += [(position, row) for row in rows[1:]]
        places += [(-1, row) for row in apart]
        found = [
            Interval(starts[row], ends[row], position, row)
            for position, row in places
            if starts[row] >= 0 and position not in looped
        ]
        found += [
            Interval(*span, position, first[position])
            for position, span in looped.items()
            if span is not None
        ]
        return sorted(found)

    def describe(self, interval: Interval) -> tuple[str, str]:
        """Return the path and the short name of what ran in an interval."""
        if interval.position < 0 or self.timings is None:
            return "", "node of the executable only"
        path = self.timings.node[interval.row]
        relative = path[len(self.path) + 1 :] if self.path else path
        body, _, position = relative.rpartition("/")
        try:
            return path, label_of(self.graph.at(body), int(position))
        except (LookupFailed, ValueError):
            return path, "node that the recording does not have"

    @cached_property
    def makespan_ns(self) -> int | None:
        """Measured under tracing: the median replay's, or of a body its span in the sample."""
        if not self.path and self.timings is not None and self.timings.makespan_ns:
            return round(median(self.timings.makespan_ns))
        if not self.intervals:
            return None
        return max(item.end_ns for item in self.intervals) - self.intervals[0].start_ns

    @cached_property
    def untraced_ns(self) -> int | None:
        """Median GPU time of a whole replay without tracing."""
        if self.path or self.timings is None or not self.timings.untraced_replay_ns:
            return None
        return round(median(self.timings.untraced_replay_ns))
