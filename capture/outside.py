"""What a process ran on the GPU beside its graphs, and what its compiler left out of them."""

from __future__ import annotations

from typing import Any

import msgspec

from .origins import Frame

WORK_COLUMNS = ("name", "type", "stream", "place", "count", "total_ns", "longest_ns")
STACK_COLUMNS = ("stack", "autograd")
"""Columns that recordings have only where stacks of launches were noted."""
BETWEEN = "between"
"""Launched by the script between two replays."""
INSIDE = "replay"
"""Launched inside ``replay()`` itself, beside the graph."""


class Outside(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Kernels, copies and memsets without a graph node, seen while replays were traced.

    A window begins with the first node of the first traced replay and ends with the last node of
    the last one before tracing paused. What ran before, after and in pauses was not seen.

    Attributes
    ----------
    process : str
        Index into the recording's processes, as text.
    windows, replays : int
        Windows, and the traced replays in them.
    window_ns : int
        Length of all windows.
    graphs_ns, outside_ns, busy_ns : int
        Time in which at least one node, one piece of other work, or any of both ran.
    name, type, stream, place : list
        One row per kernel (or kind of copy), stream, place (:data:`BETWEEN` or :data:`INSIDE`),
        stack and autograd node. Kernels have their mangled name; types are node types.
    count, total_ns, longest_ns : list of int
    stack : list of int
        Index into `stacks` of the Python stack that launched it, -1 where that is not known; empty
        where no stacks were noted. On autograd's threads it is what runs there of Python, and
        below that the stack of the thread that waits for the backward.
    autograd : list of str
        The autograd node that was running, empty for none; as long as `stack`.
    frames : list of Frame
    stacks : list of tuple of int
        Frames of each stack, innermost first.
    stacks_end : int
        The window in which stacks became too many to note all, counted from 1; 0 where they
        never did.
    dropped_records : int
        Records that CUPTI lost, or that were too many to keep.
    place_known : bool
        Whether work inside ``replay()`` was told from other work.
    reason : str
        Why there is none; all else is empty then.
    """

    process: str = ""
    windows: int = 0
    replays: int = 0
    window_ns: int = 0
    graphs_ns: int = 0
    outside_ns: int = 0
    busy_ns: int = 0
    name: list[str] = msgspec.field(default_factory=list)
    type: list[str] = msgspec.field(default_factory=list)
    stream: list[int] = msgspec.field(default_factory=list)
    place: list[str] = msgspec.field(default_factory=list)
    count: list[int] = msgspec.field(default_factory=list)
    total_ns: list[int] = msgspec.field(default_factory=list)
    longest_ns: list[int] = msgspec.field(default_factory=list)
    stack: list[int] = msgspec.field(default_factory=list)
    autograd: list[str] = msgspec.field(default_factory=list)
    frames: list[Frame] = msgspec.field(default_factory=list)
    stacks: list[tuple[int, ...]] = msgspec.field(default_factory=list)
    stacks_end: int = 0
    dropped_records: int = 0
    place_known: bool = False
    reason: str = ""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class Said(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Something the compiler said, and how often.

    Attributes
    ----------
    kind : str
        ``"skipped"``: a graph that was not made; ``"parted"``: operators that run between the
        graphs of a function; ``"break"``: a graph break of the tracer;
        ``"warned"``: anything else about its graphs.
    text : str
    place : str
        ``file:line`` that the text names, if it does.
    count : int
    """

    kind: str
    text: str
    place: str = ""
    count: int = 1


class Compilation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What torch.compile left out of its graphs in one process, by its own counters and log.

    Which graphs it made is said of each graph: ``GraphInfo.extra["compiled"]``.

    Attributes
    ----------
    process : str
        Index into the recording's processes, as text.
    said : list of Said
    counters : dict of str to int
        The compiler's own, such as ``"cudagraph_skips"`` and ``"unique_graphs"``.
    reason : str
        Why there is none; all else is empty then.
    """

    process: str = ""
    said: list[Said] = msgspec.field(default_factory=list)
    counters: dict[str, int] = msgspec.field(default_factory=dict)
    reason: str = ""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)
