"""What the GPU ran beside the graphs between traced replays: the script's own launches."""

from __future__ import annotations

from typing import NamedTuple

from ..model import Recording
from ..names import short
from ..origins import Frame
from ..outside import INSIDE, Outside
from .base import (
    Analysis,
    Cell,
    Column,
    Quantity,
    Result,
    Scope,
    Severity,
    Unit,
    rows_argument,
)
from .stored import readable

NOTABLE = 0.05
"""Share of the time from which work outside graphs is worth a look."""
COLUMNS = [
    Column("work", Unit.TEXT),
    Column("total", Unit.NS),
    Column("share of the time", Unit.RATIO),
    Column("launched at", Unit.TEXT),
    Column("called from", Unit.TEXT),
    Column("launched", Unit.TEXT),
    Column("times", Unit.COUNT),
    Column("longest", Unit.NS),
    Column("autograd node", Unit.TEXT),
    Column("type", Unit.TEXT),
    Column("stream", Unit.COUNT),
]
NONE = (
    "no replay of this recording was traced, or it was made before this was recorded; work outside "
    "graphs is seen while replays are traced"
)
_BACKSLASH = "\\"
MOST_CALLERS = 3
"""Lines of the user's that are shown of a stack, beside the one that launched."""
NO_STACKS = "The recording does not say which lines launched it: it was made before that was noted."
NOT_HEARD = "Which lines launched it is not known: CUPTI did not call back for their calls."
WINDOW = (
    "Seen from the first node of the first traced replay to the last node of the last one before "
    "tracing paused. What ran before, after and in the pauses is not in it."
)


def run(recording: Recording, rows: int = 100) -> Result:
    """Return kernels, copies and memsets without a graph node, longest first.

    Parameters
    ----------
    recording : Recording
    rows : int
        Most rows of the table.
    """
    found, damaged = stored(recording)
    if not found:
        return Result.absent(damaged[0].rstrip(".") if damaged else NONE)
    window = sum(item.window_ns for item in found)
    busy = sum(item.busy_ns for item in found)
    outside = sum(item.outside_ns for item in found)
    table = [_cells(item, row, window) for item, row in _longest_first(found)]
    result = Result(
        figures={
            "windows": Quantity(sum(item.windows for item in found), Unit.COUNT),
            "replays": Quantity(sum(item.replays for item in found), Unit.COUNT),
            "window": Quantity(window, Unit.NS),
            "outside": Quantity(outside, Unit.NS),
            "outside_share": Quantity(outside / window if window else None, Unit.RATIO),
            "graphs": Quantity(sum(item.graphs_ns for item in found), Unit.NS),
            "idle_share": Quantity((window - busy) / window if window else None, Unit.RATIO),
            "pieces": Quantity(sum(sum(item.count) for item in found), Unit.COUNT),
        },
        columns=COLUMNS,
        rows=table[:rows],
        notes=[WINDOW, *damaged],
    )
    if table:
        result.summary = (
            "Between traced replays {pieces} pieces of work ran outside any graph, for {outside} "
            "of {window}: {outside_share} of the time. The GPU was idle for {idle_share} of it."
        )
        if window and outside >= NOTABLE * window:
            result.severity = Severity.NOTICE
    else:
        result.summary = (
            "Between {replays} traced replays nothing ran outside the graphs. The GPU was idle for "
            "{idle_share} of the time."
        )
    if any(not item.place_known for item in found) and table:
        result.notes.append(
            "Kernels that torch launches inside `replay()` itself, such as those that advance "
            "random numbers, count as the script's own here."
        )
    if table and not any(item.stack for item in found):
        result.notes.append(NO_STACKS)
    elif table and not any(item.stacks for item in found):
        result.notes.append(NOT_HEARD)
    for item in found:
        if item.stacks_end:
            of = f" of process {item.process}" if len(found) > 1 else ""
            result.notes.append(
                f"Stacks became too many to note all in window {item.stacks_end}{of}: rows "
                f"without a line may be of lines that other rows name."
            )
    dropped = sum(item.dropped_records for item in found)
    if dropped:
        result.figures["dropped"] = Quantity(dropped, Unit.COUNT)
        result.notes.append("{dropped} records were too many to keep.")
    return result


def stored(recording: Recording) -> tuple[list[Outside], list[str]]:
    """Return what each process left, and what is damaged, each as a sentence."""
    damaged: list[str] = []
    items = readable(recording, "outside", damaged, "What process {owner} left")
    return [item for _, item in items if item.windows], damaged


def frames_of(item: Outside, row: int) -> tuple[Frame, ...]:
    """Return the stack that launched a row's work, innermost first; empty where it is not known."""
    stack = item.stack[row] if row < len(item.stack) else -1
    return tuple(item.frames[at] for at in item.stacks[stack]) if stack >= 0 else ()


def places_of(frames: tuple[Frame, ...]) -> tuple[str, str]:
    """Return the line that launched work, and the user's lines that led to it.

    The first is the innermost of the user's; where there is none, the innermost that a compiler
    wrote, or of any code.

    Examples
    --------
    >>> step = Frame("/a/train.py", 9, "step")
    >>> add = Frame("/torch/functional.py", 3, "add", "library")
    >>> places_of((add, step, Frame("/a/train.py", 20, "<module>")))
    ('/a/train.py:9 step', 'train.py:20 <module>')
    """
    users = [frame for frame in frames if frame.kind == "user"]
    generated = [frame for frame in frames if frame.kind == "generated"]
    shown = (users or generated or list(frames))[:1]
    callers = [
        f"{frame.file.replace(_BACKSLASH, '/').rpartition('/')[2]}:{frame.line} {frame.function}"
        for frame in users[1 : 1 + MOST_CALLERS]
    ]
    if len(users) > 1 + MOST_CALLERS:
        callers.append("…")
    at = "".join(f"{frame.file}:{frame.line} {frame.function}" for frame in shown)
    return at, " < ".join(callers)


class Launched(NamedTuple):
    """Work of one row of the table, and the whole stack that launched it."""

    name: str
    total_ns: int
    autograd: str
    frames: tuple[Frame, ...]
    """Innermost first."""


def stacks(recording: Recording, rows: int = 100) -> list[Launched]:
    """Return the stacks of the first rows of the table, in its order; rows without one left out."""
    found = []
    for item, row in _longest_first(stored(recording)[0])[:rows]:
        frames = frames_of(item, row)
        if frames:
            found.append(
                Launched(
                    _name(item, row),
                    item.total_ns[row],
                    item.autograd[row] if item.autograd else "",
                    frames,
                )
            )
    return found


def _longest_first(found: list[Outside]) -> list[tuple[Outside, int]]:
    rows = [(item, row) for item in found for row in range(len(item.name))]
    return sorted(rows, key=lambda pair: -pair[0].total_ns[pair[1]])


def _name(item: Outside, row: int) -> str:
    name, kind = item.name[row], item.type[row]
    return short(name) if kind == "kernel" else name or kind


def _autograd(item: Outside, row: int) -> str:
    return item.autograd[row] if row < len(item.autograd) else ""


def _cells(item: Outside, row: int, window_ns: int) -> tuple[Cell, ...]:
    total_ns = item.total_ns[row]
    return (
        _name(item, row),
        total_ns,
        total_ns / window_ns if window_ns else None,
        *places_of(frames_of(item, row)),
        "inside replay()" if item.place[row] == INSIDE else "between replays",
        item.count[row],
        item.longest_ns[row],
        _autograd(item, row),
        item.type[row],
        item.stream[row],
    )


ANALYSIS = Analysis(
    name="outside_graphs",
    title="Work outside the graphs",
    description="Kernels and copies that ran beside the graphs, and the lines that launched them.",
    run=run,
    scope=Scope.RECORDING,
    overview=True,
    arguments=(rows_argument(default=100),),
)
