"""Rows of the table of pairs: what is known at once, and what comes as pairs are compared."""

from __future__ import annotations

from typing import Any

from capture.model import GraphInfo

from ..comparing.pairs import Pairs, PairSummary
from ..comparing.report import ARROW, measure_text
from ..context import Context
from ..figures.changes import COLOURS, Mark
from ..format import ABSENT, count_text, counted
from .compare_choice import DROP, title_of
from .result_view import link_to

KINDS = ("changed", "added", "removed", "moved")
WAITING = "waiting"
SAME = ("the same", COLOURS[Mark.SAME])
DIFFERENT = ("different", COLOURS[Mark.CHANGED])
UNRELATED = ("unrelated", COLOURS[Mark.REMOVED])


def pair_rows(context: Context, pairs: Pairs) -> list[dict[str, Any]]:
    """Return a row per pair in the order of capture, then what only one recording has."""
    done = pairs.done()
    rows = [
        pair_row(context, pairs, at, done[at] if at < len(done) else None)
        for at in range(len(pairs.matched))
    ]
    rows += [
        _alone(context, info, "only before", Mark.REMOVED, context.state.recording)
        for info in pairs.removed
    ]
    rows += [
        _alone(context, info, "only after", Mark.ADDED, context.state.after) for info in pairs.added
    ]
    return rows


def pair_row(context: Context, pairs: Pairs, at: int, found: PairSummary | None) -> dict[str, Any]:
    """Return the row of a pair; without numbers while it is not compared."""
    one, other, words = pairs.matched[at]
    names = title_of(one), title_of(other)
    nodes = count_text(one.node_count)
    if other.node_count != one.node_count:
        nodes = f"{nodes} {ARROW} {count_text(other.node_count)}"
    link = link_to(context, {"graph": one.key, "graph_after": other.key, "view": "", **DROP})
    row: dict[str, Any] = {
        "id": f"{at}",
        "name": names[0] if one.key == other.key else f"{names[0]} {ARROW} {names[1]}",
        "by": words,
        "nodes": max(one.node_count or 0, other.node_count or 0),
        "state": WAITING,
        "colour": "transparent",
        "links": {"name": link},
        "texts": {"nodes": nodes},
        "exact": {},
    }
    if found is None:
        return row
    if found.problem:
        return row | {
            "state": "not compared",
            "texts": {**row["texts"], "differences": found.problem},
        }
    counts = found.counts
    state = SAME if found.same else DIFFERENT if found.in_common else UNRELATED
    edges = counts.edges_added + counts.edges_removed + counts.edges_changed
    parts = [
        f"{count_text(getattr(counts, kind))} {kind}" for kind in KINDS if getattr(counts, kind)
    ]
    if counts.swapped:
        parts.append(f"{count_text(counts.swapped)} with another kernel")
    if edges:
        parts.append(counted(edges, "dependency", "dependencies"))
    if found.times:
        parts.append(f"{count_text(found.times)} take another time")
    total = sum(getattr(counts, kind) for kind in KINDS) + edges + found.times
    row |= {"state": state[0], "colour": state[1], "differences": total}
    row["texts"]["differences"] = ", ".join(parts)
    if found.replay is not None:
        row["replay"] = found.replay.difference_ns
        row["texts"]["replay"] = measure_text(found.replay).partition(" (")[0]
        row["exact"]["replay"] = f"{found.replay.name}: {measure_text(found.replay)}"
    row["update"] = "taken" if found.possible else "refused"
    row["updateWhy"] = "by the documented rules" if found.possible else found.result
    return row


def _alone(
    context: Context, info: GraphInfo, words: str, mark: Mark, recording: str
) -> dict[str, Any]:
    changes = {"page": "graph", "recording": recording, "graph": info.key, "view": "", **DROP}
    return {
        "id": f"{words} {info.key}",
        "name": title_of(info),
        "by": ABSENT,
        "nodes": info.node_count,
        "state": words,
        "colour": COLOURS[mark],
        "links": {"name": link_to(context, changes)},
        "texts": {"nodes": count_text(info.node_count)},
        "exact": {},
    }


def progress_text(pairs: Pairs) -> str:
    """Return how many pairs were compared and what came out."""
    done = pairs.done()
    problems = sum(bool(item.problem) for item in done)
    same = sum(item.same and not item.problem for item in done)
    if len(done) < len(pairs.matched):
        return f"{count_text(len(done))} of {count_text(len(pairs.matched))} pairs compared"
    different = len(done) - same - problems
    parts = [f"{count_text(same)} the same", f"{count_text(different)} different"]
    if problems:
        parts.append(f"{count_text(problems)} not compared")
    if pairs.removed:
        parts.append(f"{count_text(len(pairs.removed))} only before")
    if pairs.added:
        parts.append(f"{count_text(len(pairs.added))} only after")
    return ", ".join(parts)
