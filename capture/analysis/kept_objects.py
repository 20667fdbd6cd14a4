"""Objects that analyses make by the hundred thousand and keep, and Python's garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from ..codec import collection_paused


@contextmanager
def kept_objects() -> Iterator[None]:
    """Keep the collector from looking through what is made inside, which is kept and has no cycles.

    With the collector only paused, its next run, which comes at once, would look at each object: as
    long again as making it took. Counted among the old ones, they are looked at when those are.

    Notes
    -----
    O(1): lists of objects are joined. What else was young becomes old too, so this is not for a
    user's process. Nothing is done where somebody froze objects, which would be thawed.
    """
    with collection_paused():
        yield
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
