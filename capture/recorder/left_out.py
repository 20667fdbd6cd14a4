"""Operators that are called inside a capture, on a stream that is not part of it.

CUDA refuses few of them: most simply run, at once and only once, and the graph lacks them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from ..model import LeftOut, Place
from .causes import is_user

MOST = 32
"""Different operators and lines that are kept of one capture."""
MAX_DEPTH = 200

NEVER_LEFT_OUT = frozenset(
    (
        "_record_function_enter_new",
        "_record_function_exit",
        "_unsafe_view",
        "_reshape_alias",
        "empty",
        "empty_like",
        "empty_permuted",
        "empty_strided",
        "is_pinned",
        "lift_fresh",
        "new_empty",
        "new_empty_strided",
        "record_stream",
        "resize_",
        "set_",
    )
)
"""Operators without work that a graph could lack: they allocate or look."""


class Omissions:
    """What one capture left out."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, int, int], LeftOut] = {}

    def __len__(self) -> int:
        return len(self._found)

    def note(
        self,
        operator: Any,
        args: Iterable[Any],
        kwargs: dict[str, Any],
        stream: int,
        frame: Any,
        device: int = -1,
    ) -> None:
        """Note an operator that was called while the current stream was not captured.

        Parameters
        ----------
        operator : OpOverload
            As torch's dispatcher knows it.
        args, kwargs
            What it was called with; operators without a tensor on a GPU launch nothing there.
        stream : int
            Handle of the current stream.
        frame : frame
            The innermost one of the caller's.
        device : int, optional
            Of the stream, where it is not the current one.
        """
        if launches(operator) and uses_gpu([*args, *kwargs.values()]):
            self.add(str(operator), stream, frame, device)

    def add(self, name: str, stream: int, frame: FrameType | None, device: int = -1) -> None:
        """Note an operator, or a kernel that no operator launches, by its name."""
        place = user_place(frame)
        key = name, place.file if place else "", place.line if place else 0, stream
        known = self._found.get(key)
        if known is not None:
            known.times += 1
        elif len(self._found) < MOST:
            where = f"{stream:#x}" if stream else "0 (the default stream)"
            if device >= 0:
                where += f" of cuda:{device}"
            self._found[key] = LeftOut(operator=name, place=place, stream=where)

    def rows(self) -> list[LeftOut]:
        """Return what was left out, in the order in which it was first called."""
        return list(self._found.values())


def launches(operator: Any) -> bool:
    """Say whether an operator may launch work: views and allocations do not."""
    schema = operator._schema
    name = schema.name.partition("::")[2]
    if name in NEVER_LEFT_OUT:
        return False
    # A result that is an alias, and is not written, is a view.
    return not any(
        item.alias_info is not None and not item.alias_info.is_write for item in schema.returns
    )


def uses_gpu(values: Iterable[Any]) -> bool:
    """Say whether a tensor or a device among arguments is on a GPU."""
    for value in _flat(values):
        if getattr(value, "is_cuda", None) is True:
            return True
        if getattr(value, "type", None) == "cuda":  # a torch.device
            return True
    return False


def other_device(values: Iterable[Any], device: int) -> int:
    """Return the GPU of the first tensor on a GPU, if it is not the given one; else -1."""
    for value in _flat(values):
        if getattr(value, "is_cuda", None) is True:
            found: int = value.get_device()
            return found if found != device else -1
    return -1


def user_place(frame: FrameType | None) -> Place | None:
    """Return the innermost line of the user's code on a stack."""
    for _ in range(MAX_DEPTH):
        if frame is None:
            return None
        code = frame.f_code
        if is_user(code.co_filename):
            return Place(file=code.co_filename, line=frame.f_lineno, function=code.co_name)
        frame = frame.f_back
    return None


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if type(value) in (list, tuple):
            yield from value[:MOST]
        else:
            yield value
