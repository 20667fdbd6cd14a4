"""Python stacks: noted as something opaque while a graph is captured, made readable after it."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any

from ..places import is_generated, is_ours, is_user

Place = tuple[str, int, str]
"""File, line, function."""
Places = tuple[Place, ...]
"""A stack that can be read, innermost first."""
Trace = Any
"""A stack that was noted: :data:`Places`, or what :class:`Stacks` is told how to read."""
NO_STACK: Places = ()
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_STDLIB = sysconfig.get_paths()["stdlib"] + os.sep


class Stacks:
    """Reads stacks, each once.

    Parameters
    ----------
    read : callable, optional
        Returns the frames of many stacks at once, each a list of maps with ``filename``, ``line``
        and ``name``; equal frames may be one object.
    """

    def __init__(
        self, read: Callable[[list[Trace]], Sequence[Sequence[dict[str, Any]]]] | None = None
    ) -> None:
        self._read = read
        self._known: dict[int, tuple[Trace, Places]] = {}
        self._same: dict[Places, Places] = {}

    def load(self, traces: Iterable[Trace]) -> None:
        """Read many stacks at once."""
        new = {id(trace): trace for trace in traces if self._unread(trace)}
        if not new or self._read is None:
            return
        # Their frames are shared, so an identity stands for a frame.
        place_of: dict[int, Place] = {}
        whole: dict[tuple[int, ...], Places] = {}
        read = self._read(list(new.values()))
        for (identity, trace), frames in zip(new.items(), read, strict=True):
            key = tuple(map(id, frames))
            places = whole.get(key)
            if places is None:
                for frame in frames:
                    if id(frame) not in place_of:
                        place_of[id(frame)] = frame["filename"], frame["line"], frame["name"]
                places = tuple(place_of[number] for number in key)
                places = whole[key] = self._same.setdefault(places, places)
            self._known[identity] = trace, places

    def _unread(self, trace: Trace) -> bool:
        return trace is not None and type(trace) is not tuple and id(trace) not in self._known

    def places(self, trace: Trace) -> Places:
        """Return a stack that can be read."""
        if trace is None:
            return NO_STACK
        if type(trace) is tuple:
            return trace
        if id(trace) not in self._known:
            self.load([trace])
        return self._known[id(trace)][1] if id(trace) in self._known else NO_STACK


def walk(frame: FrameType | None) -> Places:
    """Return the stack of a frame."""
    places: list[Place] = []
    while frame is not None:
        code = frame.f_code
        places.append((code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back
    return tuple(places)


def kind_of(file: str) -> str:
    """Say whose a file is: ``"ours"``, ``"generated"``, ``"library"`` or ``"user"``."""
    if is_ours(file):
        return "ours"
    if is_generated(file) or file.startswith(("<eval_with_key>", "<torch", "<__triton")):
        return "generated"
    if not is_user(file) or file.startswith(_STDLIB) or any(name in file for name in _INSTALLED):
        return "library"
    return "user"
