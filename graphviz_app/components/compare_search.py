"""Search in both graphs of a comparison."""

from __future__ import annotations

import numpy as np

from ..comparing.compared import Compared
from ..comparing.merged import Side
from ..context import Context
from ..figures.changes import WORDS

FIELD = "change:"


def find(context: Context, compared: Compared, text: str) -> list[int]:
    """Return the nodes of both graphs as one that a search finds, in the order of the list.

    ``change:added`` and so on find what became of nodes; all else is searched for in each graph.
    """
    body = context.state.body
    if body not in compared.levels or compared.nothing_to_draw:
        return []
    merged, level, pair = compared.merged(body), compared.levels[body], compared.pair
    if text.startswith(FIELD):
        words = text.removeprefix(FIELD).strip()
        marks = [mark for mark, name in WORDS.items() if name == words]
        wanted = np.isin(merged.marks, np.asarray(marks, np.uint8)) & merged.shown(Side.BOTH)
        found: list[int] = np.flatnonzero(wanted).tolist()
        return found
    store = context.store
    before = store.find(pair.recording, pair.graph, level.path_before, text)
    after = store.find(pair.after, pair.graph_after, level.path_after, text)
    return sorted({*before, *(int(merged.union.index_after[at]) for at in after)})
