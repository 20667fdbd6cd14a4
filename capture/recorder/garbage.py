"""Whether an object is garbage that waits for the collector, asked without collecting anything.

``ctypes.cast`` ties what it is given into a cycle: a callback whose last variable is gone lives on
until the garbage collector happens to run.
"""

from __future__ import annotations

import gc
import operator
import sys
import weakref
from types import FrameType, ModuleType
from typing import Any

MOST_LEVELS = 4
MOST_OBJECTS = 64


def is_garbage(reference: weakref.ref[Any]) -> bool:
    """Say whether nothing but a small cycle of its own holds an object.

    Parameters
    ----------
    reference : weakref.ref
        The caller must hold no other reference. An object that is gone is no garbage.

    Notes
    -----
    Counts references as the collector does: those from within the cycle against all. Each level of
    referrers takes a pass over all objects that the collector knows; where more than a few objects
    are involved, the object counts as held.
    """
    group = [reference()]
    if group[0] is None:
        return False
    fresh = list(group)
    for _ in range(MOST_LEVELS):
        known = set(map(id, group)) | {id(group), id(fresh)}
        found = [
            item
            for item in gc.get_referrers(*fresh)
            if id(item) not in known and not _is_call(item, fresh)
        ]
        if not found:
            del fresh, found
            return not _held(group)
        if len(group) + len(found) > MOST_OBJECTS or any(map(_is_root, found)):
            return False
        group.extend(found)
        fresh = found
    return False


def _is_call(item: Any, arguments: list[Any]) -> bool:
    """Say whether an object is the arguments of our own question, which Python 3.13 tracks."""
    return (
        type(item) is tuple
        and len(item) == len(arguments)
        and all(map(operator.is_, item, arguments))
    )


def _is_root(item: Any) -> bool:
    if isinstance(item, FrameType | ModuleType):
        return True
    return type(item) is dict and "__name__" in item and "__spec__" in item


def _held(group: list[Any]) -> bool:
    """Say whether anything outside holds a member of a group; the caller's list does not count."""
    inside: dict[int, int] = {}
    for place in range(len(group)):
        for other in gc.get_referents(group[place]):
            inside[id(other)] = inside.get(id(other), 0) + 1
    other = None  # the loop's last one is counted below
    own = _own_references()
    for at in range(len(group)):
        if sys.getrefcount(group[at]) - own > inside.get(id(group[at]), 0):
            return True
    return False


def _own_references() -> int:
    """Return how many references a member of a list has when it is counted there."""
    group: list[Any] = [[]]
    return sys.getrefcount(group[0])
