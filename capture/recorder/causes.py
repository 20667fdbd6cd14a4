"""What is kept of an exception: class, message, CUDA's number, frames; nothing that it holds."""

from __future__ import annotations

import dis
import linecache
import os
import sys
import sysconfig
from collections.abc import Iterator
from itertools import islice
from types import CodeType, FrameType, TracebackType

from ..failures.error_codes import code_of, is_cuda
from ..failures.facts import Frame, Raised

MAX_FRAMES = 48
"""Innermost frames that are kept of an exception; of those above it, only the user's are."""
MAX_USER_FRAMES = 16
MAX_DEPTH = 2000
"""Frames of a stack that are looked at."""
MAX_CHAIN = 8
MAX_MESSAGE = 4000
MAX_CALL = 200

INFRASTRUCTURE = ("torch", "triton", "functorch", "cuda", "cupy", "cupy_backends", "numpy", "numba")
"""Packages whose frames are never the line to blame; other installed packages may be."""

_STATEMENTS = ("if ", "elif ", "while ", "with ", "for ", "assert ", "async ")
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_STDLIB = sysconfig.get_paths()["stdlib"] + os.sep


def raised(error: BaseException, thread: str = "") -> Raised:
    """Describe an exception that has a traceback."""
    return described(error, thread, list(_walk(error.__traceback__))[::-1])


def chain(error: BaseException, thread: str = "", before: int = 0) -> list[Raised]:
    """Describe the exceptions about CUDA that led to this one, the first one first.

    Parameters
    ----------
    error : BaseException
    thread : str
    before : int
        Identity of an exception that was being handled before all this; it led to nothing.
    """
    found: list[Raised] = []
    seen = {before}
    current = error.__cause__ or error.__context__
    while current is not None and id(current) not in seen and len(seen) < MAX_CHAIN:
        seen.add(id(current))
        item = raised(current, thread)
        if item.code is not None or says_cuda(current, item.message):
            found.insert(0, item)
        current = current.__cause__ or current.__context__
    return found


def raised_at(error: BaseException, frame: FrameType | None, thread: str) -> Raised:
    """Describe an exception that is being raised, with the stack that it is raised on."""
    return described(error, thread, list(islice(_up(frame), MAX_DEPTH)))


def described(error: BaseException, thread: str, frames: list[tuple[CodeType, int, int]]) -> Raised:
    """Describe an exception with frames as (code, line, offset of the instruction)."""
    frames = [frame for frame in frames if not is_ours(frame[0].co_filename)]
    outer = [frame for frame in frames[MAX_FRAMES:MAX_DEPTH] if is_user(frame[0].co_filename)]
    message = message_of(error)
    code = getattr(error, "error_code", None)  # of torch.AcceleratorError, from torch 2.9 on
    if type(code) is not int or code <= 0:
        code = code_of(message)
    return Raised(
        error=name_of(error),
        message=message,
        code=code,
        thread=thread,
        frames=tuple(
            frame_of(*frame) for frame in [*frames[:MAX_FRAMES], *outer[:MAX_USER_FRAMES]]
        ),
    )


def stack_of(frame: FrameType | None, most: int = MAX_FRAMES) -> tuple[Frame, ...]:
    """Describe what a thread is doing, innermost first."""
    return tuple(
        frame_of(*item) for item in islice(_up(frame), most) if not is_ours(item[0].co_filename)
    )


def frame_of(code: CodeType, line: int, offset: int) -> Frame:
    """Describe one frame, with the source text that was being evaluated."""
    user = is_user(code.co_filename)
    return Frame(
        file=code.co_filename,
        line=line,
        function=code.co_name,
        user=user,
        call=expression(code, offset) if user else "",
        instruction=_instruction(code, offset) if user else "",
    )


def name_of(error: BaseException) -> str:
    """Return the class of an exception, with its module unless it is a builtin."""
    kind = type(error)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def message_of(error: BaseException) -> str:
    """Return the message of an exception; making it may run the script's code, and fail."""
    try:
        return str(error)[:MAX_MESSAGE]
    except Exception:
        return "its message could not be made"


def is_user(file: str) -> bool:
    """Say whether a file may be to blame: not Python's own, not torch's or Triton's, not ours."""
    if file.startswith((_HERE, "<frozen")):
        return False
    parts = file.replace("\\", "/").split("/")
    if "site-packages" in parts or "dist-packages" in parts:
        name = "site-packages" if "site-packages" in parts else "dist-packages"
        package = parts[parts.index(name) + 1 : parts.index(name) + 2]
        return not package or package[0] not in INFRASTRUCTURE
    if file.startswith(_STDLIB):
        return False
    torch = getattr(sys.modules.get("torch"), "__file__", None)
    return not (torch and file.startswith(os.path.dirname(torch) + os.sep))


def is_ours(file: str) -> bool:
    """Say whether a file is part of the recorder."""
    return file.startswith(_HERE)


def says_cuda(error: BaseException, message: str) -> bool:
    """Say whether an exception is CUDA's or one of its libraries'.

    Many exceptions are raised and caught in silence, such as those of Python's imports, whose
    messages are names of modules. So a word in the message is not enough.
    """
    name = type(error).__qualname__
    if code_of(message) is not None or "AcceleratorError" in name or "cuda" in name.lower():
        return True
    return isinstance(error, RuntimeError) and is_cuda(name, message)


def expression(code: CodeType, offset: int) -> str:
    """Return the source text of what an instruction evaluates, on one line; empty if unknown."""
    place = next(islice(code.co_positions(), offset // 2, None), None)
    if place is None or None in place:
        return ""
    first, last, start, end = (number or 0 for number in place)
    lines = [linecache.getline(code.co_filename, number) for number in range(first, last + 1)]
    if not all(lines):
        return ""
    # Columns count bytes.
    lines[-1] = lines[-1].encode()[:end].decode(errors="replace")
    lines[0] = lines[0].encode()[start:].decode(errors="replace")
    if last > first and lines[0].startswith(_STATEMENTS):
        # What belongs to a whole statement, its block included: its head says enough.
        lines = [lines[0].partition("  #")[0].rstrip().removesuffix(":")]
    text = " ".join(" ".join(lines).split())
    return text if len(text) <= MAX_CALL else f"{text[:MAX_CALL]}..."


def _instruction(code: CodeType, offset: int) -> str:
    instructions = code.co_code
    if not 0 <= offset < len(instructions):
        return ""
    # A call that failed is often found at one of the cache entries behind its instruction.
    while offset >= 2 and dis.opname[instructions[offset]] == "CACHE":
        offset -= 2
    return dis.opname[instructions[offset]]


def _walk(traceback: TracebackType | None) -> Iterator[tuple[CodeType, int, int]]:
    while traceback is not None:
        yield traceback.tb_frame.f_code, traceback.tb_lineno, traceback.tb_lasti
        traceback = traceback.tb_next


def _up(frame: FrameType | None) -> Iterator[tuple[CodeType, int, int]]:
    while frame is not None:
        yield frame.f_code, frame.f_lineno, frame.f_lasti
        frame = frame.f_back
