"""Node timings of one executable: evidence that hangs beside its graph.

Columns are parallel, one row per node of the executable that was seen running. A captured node may
have several rows (a memcpy that became two), and a row may belong to no captured node
(``node == ""``). All times are nanoseconds; starts count from the first start in the replay.
"""

from __future__ import annotations

from typing import Any

import msgspec

NODE_COLUMNS = (
    "node",
    "count",
    "minimum_ns",
    "median_ns",
    "p95_ns",
    "start_ns",
    "gap_ns",
    "stream",
    "sample_start_ns",
    "sample_duration_ns",
)
"""Fields of :class:`Timings` that have one value per row."""


class Timings(msgspec.Struct, kw_only=True, omit_defaults=True):
    """When every node of an executable ran, over the traced replays.

    Attributes
    ----------
    executable, graph : str
        Id of the executable, key of its graph.
    how : str
        ``"cupti"``.
    joined_by : str
        ``"clone map"`` when node ids connect records to captured nodes, ``"order"`` when only the
        order of execution does.
    node : list of str
        Path of the captured node, such as ``"3/0/12"``.
    count : list of int
        Replays in which the row was seen; for a node in a loop, runs over all replays.
    minimum_ns, median_ns, p95_ns : list of int
        Duration.
    start_ns : list of int
        Median start offset in the replay.
    gap_ns : list of int
        Median time from the last end of a predecessor (for roots: the replay's start) to the start;
        0 where it started before that end, -1 for rows that are not on the outermost level.
    stream : list of int
        Hardware stream as CUPTI numbers them.
    makespan_ns, busy_ns : list of int
        One per traced replay: first start to last end, and the time in which any node ran.
    sample_start_ns, sample_duration_ns : list of int
        The replay whose makespan is the median, as it ran: for timelines. A start of -1 is a row
        that did not run in that replay; a row that ran several times shows its first run.
    sample_runs, sample_end_ns : list of int
        How often each row ran in that replay and when its last run ended; empty when no row ran
        more than once. They tell how long a loop took.
    untraced_replay_ns, traced_replay_ns : list of int
        GPU time of whole replays without and with tracing, measured alike in the same process:
        the cost of looking.
    missing : dict of str to str
        Captured nodes without a row, and why.
    dropped_records : int
        Records that CUPTI says it lost, of the whole process.
    """

    executable: str
    graph: str
    how: str = "cupti"
    joined_by: str = "clone map"
    node: list[str] = msgspec.field(default_factory=list)
    count: list[int] = msgspec.field(default_factory=list)
    minimum_ns: list[int] = msgspec.field(default_factory=list)
    median_ns: list[int] = msgspec.field(default_factory=list)
    p95_ns: list[int] = msgspec.field(default_factory=list)
    start_ns: list[int] = msgspec.field(default_factory=list)
    gap_ns: list[int] = msgspec.field(default_factory=list)
    stream: list[int] = msgspec.field(default_factory=list)
    makespan_ns: list[int] = msgspec.field(default_factory=list)
    busy_ns: list[int] = msgspec.field(default_factory=list)
    sample_start_ns: list[int] = msgspec.field(default_factory=list)
    sample_duration_ns: list[int] = msgspec.field(default_factory=list)
    sample_runs: list[int] = msgspec.field(default_factory=list)
    sample_end_ns: list[int] = msgspec.field(default_factory=list)
    untraced_replay_ns: list[int] = msgspec.field(default_factory=list)
    traced_replay_ns: list[int] = msgspec.field(default_factory=list)
    missing: dict[str, str] = msgspec.field(default_factory=dict)
    dropped_records: int = 0
    extra: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def tracing_ratio(self) -> float | None:
        """Traced over untraced replay time, of medians; ``None`` when either was not measured."""
        if not self.untraced_replay_ns or not self.traced_replay_ns:
            return None
        from statistics import median

        untraced = median(self.untraced_replay_ns)
        return median(self.traced_replay_ns) / untraced if untraced else None
