"""What the browser fetches of a comparison: pictures, replays, and the order of its changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from capture.errors import LookupFailed

from ..compression import SCENE_TYPE
from ..figures.changes import COLOURS, WORDS, Mark
from ..format import duration_text
from ..store import Store
from .compared import Compared, Pair, compared, nearest
from .merged import Side

JSON = "application/json"
SIDES = (Side.BEFORE, Side.AFTER)


def compare_data(
    store: Store, kind: str, pair: Pair, side: str = "", body: str = ""
) -> tuple[bytes, str]:
    """Return the bytes of a part of a comparison and their type.

    Parameters
    ----------
    store : Store
    kind : str
        ``scene``, ``replay`` or ``tour``.
    pair : Pair
    side : str
        Of a scene or a replay; see :class:`~graphviz_app.merged.Side`.
    body : str
        Of a scene: path before of the bodies.

    Raises
    ------
    LookupFailed
        There is no such thing.
    """
    found = compared(store, pair)
    if kind == "tour":
        return msgspec.json.encode(found.tour), JSON
    if kind == "scene" and side in set(Side):
        return merged_body(found, body).scene(Side(side)), SCENE_TYPE
    if kind == "replay" and side in SIDES:
        return replay(store, found, Side(side)), JSON
    known = "scene, replay and tour"
    raise LookupFailed(f"a comparison has no {kind!r} of side {side!r}: it has {known}")


def merged_body(found: Compared, body: str) -> Any:
    """Return the bodies at a path as one.

    Raises
    ------
    LookupFailed
        No body that both graphs have is there.
    """
    if body not in found.levels:
        known = ", ".join(path for path in found.levels if path) or "no bodies"
        raise LookupFailed(f"no body {body!r} is in both graphs: they share {known}")
    return found.merged(body)


def replay(store: Store, found: Compared, side: Side) -> bytes:
    """Return the sample replay of one side: in the colours of changes, on the scale of both.

    Its ``path`` names nodes as the pictures do, so that a selection is one on both sides;
    ``shown`` is the path in the graph itself.

    Raises
    ------
    LookupFailed
        The graph was not timed.
    """
    pair = found.pair
    ids = {Side.BEFORE: (pair.recording, pair.graph), Side.AFTER: (pair.after, pair.graph_after)}
    document = msgspec.json.decode(store.replay(*ids[side]))
    spans = [document["last"] - document["first"]]
    other = ids[Side.AFTER if side is Side.BEFORE else Side.BEFORE]
    if found.before.is_timed and found.after.is_timed:
        told = msgspec.json.decode(store.replay(*other), type=_Span)
        spans.append(told.last - told.first)
    paths, marks = [], []
    for path in document["path"]:
        joint, mark = _joint(found, side, path) if path else ("", Mark.SAME)
        paths.append(joint)
        marks.append(int(mark))
    document |= {
        "last": document["first"] + max(spans),
        "span": duration_text(spans[0]),
        "shown": document["path"],
        "path": paths,
        "type": marks,
        "types": [{"name": WORDS[mark], "colour": COLOURS[mark]} for mark in Mark],
    }
    return msgspec.json.encode(document)


class _Span(msgspec.Struct):
    first: int
    last: int


def _joint(found: Compared, side: Side, path: str) -> tuple[str, Mark]:
    known: Mapping[str, Any] = found.levels if side is Side.BEFORE else found.bodies_after
    try:
        body, position = nearest(path, known)
    except ValueError:
        return "", Mark.SAME  # of the executable alone
    here = body if side is Side.BEFORE else found.bodies_after[body]
    merged = found.merged(here)
    node = position if side is Side.BEFORE else int(merged.union.index_after[position])
    return f"{here}/{node}" if here else str(node), Mark(int(merged.marks[node]))
