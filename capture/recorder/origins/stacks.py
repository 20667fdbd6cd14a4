"""Python stacks of this process, each kept once, as code objects and offsets.

Noting a stack looks nothing up, computes no line and keeps no frame: a frame that is kept keeps
its variables, and with them memory of the script. Lines are found when a capture is written.
"""

from __future__ import annotations

import os
import sysconfig
from bisect import bisect_right
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import NamedTuple

from ..places import is_generated, is_ours, is_user

Place = tuple[str, int, str]
"""File, line, function."""
Places = tuple[Place, ...]
"""A stack that can be read, innermost first."""
NO_STACK = -1
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_STDLIB = sysconfig.get_paths()["stdlib"] + os.sep


class Base(NamedTuple):
    """A frame past which stacks need not be walked, known without being kept.

    Attributes
    ----------
    code : CodeType or None
    frame : int
        Identity of the frame, which is the same as long as it runs.
    outer : int
        The stack of its callers.
    module : int
        The module whose forward it is in.
    """

    code: CodeType | None = None
    frame: int = 0
    outer: int = NO_STACK
    module: int = -1


NO_BASE = Base()


class Stacks:
    """Table of stacks; an index stands for one.

    A key holds identity of the code and offset of each frame, innermost first, and at its end,
    if it is negative, the complement of the index of the rest.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], int] = {}
        self._keys: list[tuple[int, ...]] = []
        # Identities stay good because the code is kept.
        self._codes: dict[int, CodeType] = {}
        self._lines: dict[int, tuple[list[int], list[int]]] = {}
        self._places: dict[int, Places] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def walk(
        self,
        frame: FrameType | None,
        base: Base = NO_BASE,
        mark: CodeType | None = None,
        outer: int = NO_STACK,
    ) -> tuple[int, FrameType | None, bool]:
        """Note the stack of a frame.

        Parameters
        ----------
        frame : frame or None
        base : Base, optional
            Where to stop.
        mark : CodeType, optional
            Code to look out for.
        outer : int, optional
            A stack that goes on where this one ends.

        Returns
        -------
        index : int
        marked : frame or None
            The innermost frame of that code; not to be kept.
        based : bool
            Whether the base was met.
        """
        if frame is None:
            return outer, None, False
        # This runs for every operator of a script: the mark is looked for until it is found.
        first = frame
        marked: FrameType | None = None
        based = False
        key: list[int] = []
        add = key.append
        base_code, base_frame = base.code, base.frame
        while frame is not None:
            code = frame.f_code
            add(id(code))
            add(frame.f_lasti)
            if code is base_code and id(frame) == base_frame:
                based = True
                break
            if code is mark:
                marked = frame
                break
            frame = frame.f_back
        if marked is not None:
            frame = marked.f_back
            while frame is not None:
                code = frame.f_code
                add(id(code))
                add(frame.f_lasti)
                if code is base_code and id(frame) == base_frame:
                    based = True
                    break
                frame = frame.f_back
        if based:
            outer = base.outer
        if outer >= 0:
            key.append(~outer)
        found = self._known.get(tuple(key))
        if found is None:
            found = self._add(tuple(key), first)
        return found, marked, based

    def adopt(self, key: tuple[int, ...], codes: Iterable[CodeType]) -> int:
        """Return the index of a stack that was walked by others.

        Parameters
        ----------
        key : tuple of int
            As described above.
        codes : iterable of CodeType
            Those that the key names.
        """
        found = self._known.get(key)
        if found is None:
            self._codes.update((id(code), code) for code in codes)
            found = self._known[key] = len(self._keys)
            self._keys.append(key)
        return found

    def _add(self, key: tuple[int, ...], frame: FrameType | None) -> int:
        codes: list[CodeType] = []
        while frame is not None and len(codes) < len(key) // 2:
            codes.append(frame.f_code)
            frame = frame.f_back
        return self.adopt(key, codes)

    def places(self, index: int) -> Places:
        """Return a stack that can be read; equal stacks are one object."""
        if not 0 <= index < len(self._keys):
            return ()
        found = self._places.get(index)
        if found is None:
            key = self._keys[index]
            whole = len(key) // 2 * 2
            own = tuple(self._place(key[at], key[at + 1]) for at in range(0, whole, 2))
            rest = self.places(~key[-1]) if len(key) != whole else ()
            found = self._places[index] = own + rest
        return found

    def _place(self, identity: int, offset: int) -> Place:
        code = self._codes[identity]
        return code.co_filename, self._line(code, offset), code.co_qualname

    def _line(self, code: CodeType, offset: int) -> int:
        table = self._lines.get(id(code))
        if table is None:
            starts, lines = [], []
            for start, _, line in code.co_lines():
                starts.append(start)
                lines.append(line or code.co_firstlineno)
            table = self._lines[id(code)] = starts, lines
        starts, lines = table
        at = bisect_right(starts, offset) - 1
        return lines[at] if at >= 0 else code.co_firstlineno


def kind_of(file: str) -> str:
    """Say whose a file is: ``"ours"``, ``"generated"``, ``"library"`` or ``"user"``."""
    if is_ours(file):
        return "ours"
    if is_generated(file) or file.startswith(("<eval_with_key>", "<torch", "<__triton")):
        return "generated"
    if not is_user(file) or file.startswith(_STDLIB) or any(name in file for name in _INSTALLED):
        return "library"
    return "user"
