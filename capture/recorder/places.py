"""Where in the user's code a capture happens, and what tells it from its siblings."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, NamedTuple

from ..model import Place
from .frame_locals import variable

COMPILED = "torch.compile"
"""Stands for code that torch's compiler wrote, where no line of the user's is on the stack."""
MAX_STACK = 8
"""User frames that are kept of a capture's stack."""
LABEL_FRAMES = 3
"""How far up the stack a label is looked for."""
LABEL_NAMES = (
    "batch_size",
    "bs",
    "batch",
    "num_tokens",
    "n_tokens",
    "num_seqs",
    "seq_len",
    "seqlen",
    "bucket",
    "bucket_size",
    "num_reqs",
    "microbatch",
)
"""Integer locals that people tell sibling graphs apart by."""

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_STDLIB = sysconfig.get_paths()["stdlib"] + os.sep
_SITE = os.path.join(_STDLIB, "site-packages") + os.sep


class Spot(NamedTuple):
    """Where something was captured.

    Attributes
    ----------
    place : Place or None
        Innermost frame of the user's code, or the framework's when there is none.
    stack : list of (file, line, function)
        User frames, innermost first.
    label : str
        Such as ``"batch_size=8"``; a guess from local variables.
    framework : bool
        True when no frame of the user's is on the stack (autograd's threads have none).
    internal : bool
        True for captures that a framework makes for its own book-keeping.
    compiled : dict of str to int or None
        Of a graph in the compiler's trees: numbers of its ``function``, of its ``node`` in the
        tree and of that node's ``parent`` (-1 for a root), how many ``inputs`` it has and how many
        of those are ``copied`` before each replay.
    """

    place: Place | None
    stack: list[tuple[str, int, str]]
    label: str
    framework: bool
    internal: bool
    labelled: bool = False
    """Whether the label was given by the user."""
    compiled: dict[str, int] | None = None


def _torch_folder() -> str:
    torch = sys.modules.get("torch")
    file = getattr(torch, "__file__", None)
    return os.path.dirname(file) + os.sep if file else "\0"


def _is_user(file: str, torch: str) -> bool:
    if file.startswith((torch, _HERE)):
        return False
    if file.startswith("<frozen"):
        return False
    return not file.startswith(_STDLIB) or file.startswith(_SITE)


def is_user(file: str) -> bool:
    """Say whether a file is neither torch's, Python's own nor ours."""
    return _is_user(file, _torch_folder())


def is_ours(file: str) -> bool:
    """Say whether a file is part of the recorder."""
    return file.startswith(_HERE)


def is_generated(file: str) -> bool:
    """Say whether a file is code that torch's compiler wrote: its names are digests."""
    cache = os.environ.get("TORCHINDUCTOR_CACHE_DIR", "")
    return "torchinductor_" in file or (bool(cache) and file.startswith(cache))


def locate(frame: FrameType | None, graph: object = None) -> Spot:
    """Find the user's code on a stack.

    Parameters
    ----------
    frame : frame
        Innermost frame to look at.
    graph : object, optional
        The graph object that is captured, to tell a forward from a backward.
    """
    torch = _torch_folder()
    stack: list[tuple[str, int, str]] = []
    fallback: Place | None = None
    generated: Place | None = None
    framework_label = user_label = ""
    internal = False
    compiled: dict[str, int] | None = None
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if is_generated(file):
            generated = generated or Place(file=file, line=frame.f_lineno, function=code.co_name)
        elif _is_user(file, torch):
            if len(stack) < MAX_STACK:
                stack.append((file, frame.f_lineno, code.co_name))
            if not user_label and len(stack) <= LABEL_FRAMES:
                user_label = _label(frame)
        elif file.startswith(torch):
            if fallback is None and not file.endswith(os.path.join("cuda", "graphs.py")):
                fallback = Place(file=file, line=frame.f_lineno, function=code.co_name)
            framework_label = framework_label or _framework_label(frame, graph)
            if code.co_name == "__init__" and file.endswith("cudagraph_trees.py"):
                made = variable(frame, "self")
                internal = internal or type(made).__name__ == "CUDAGraphTreeManager"
                compiled = compiled or _compiled(frame, made)
        frame = frame.f_back
    place = Place(file=stack[0][0], line=stack[0][1], function=stack[0][2]) if stack else None
    place = place or generated or fallback
    label = ", ".join(filter(None, (framework_label, user_label)))
    return Spot(place, stack, label, not stack, internal, compiled=compiled)


def _compiled(frame: FrameType, node: object) -> dict[str, int] | None:
    """Return which node of the compiler's trees is being made in a frame."""
    function = getattr(getattr(variable(frame, "wrapped_function"), "id", None), "id", None)
    number = getattr(variable(frame, "id"), "id", None)
    if type(function) is not int or type(number) is not int:
        return None
    above = getattr(getattr(variable(frame, "parent"), "id", None), "id", None)
    found = {"function": function, "node": number, "parent": above if type(above) is int else -1}
    for name, value in (
        # The list of inputs itself is emptied before the capture begins.
        ("inputs", getattr(node, "preserved_aliased_inputs", None)),
        ("copied", getattr(node, "non_static_input_idx", None)),
    ):
        if isinstance(value, (list, tuple)):
            found[name] = len(value)
    return found


def _label(frame: FrameType) -> str:
    for name in LABEL_NAMES:
        value = variable(frame, name)
        if type(value) is int:
            return f"{name}={value}"
    return ""


def _framework_label(frame: FrameType, graph: object) -> str:
    """Tell forward from backward where torch's own frames know it."""
    code = frame.f_code
    if code.co_name == "make_graphed_callables" and graph is not None:
        if variable(frame, "bwd_graph") is graph:
            return "backward"
        if variable(frame, "fwd_graph") is graph:
            return "forward"
    elif code.co_name == "__init__" and code.co_filename.endswith("cudagraph_trees.py"):
        mode = getattr(variable(frame, "mode"), "name", None)
        if isinstance(mode, str):
            return mode.lower()
    return ""


def innermost(traceback: TracebackType | None) -> Place | None:
    """Return the deepest place of the user's code in a traceback, else the deepest of all."""
    torch = _torch_folder()
    last: Place | None = None
    anywhere: Place | None = None
    for frame, line in _walk(traceback):
        code = frame.f_code
        place = Place(file=code.co_filename, line=line, function=code.co_name)
        if _is_user(code.co_filename, torch):
            last = place
        elif not code.co_filename.startswith(_HERE):
            anywhere = place
    return last or anywhere


def _walk(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def stable_file(file: str, roots: list[str]) -> str:
    """Return a file's path relative to the first of `roots` that holds it, else its name.

    Keys are made of it, and shall be equal in another checkout and on another machine.

    Examples
    --------
    >>> stable_file("/home/me/project/bench/run.py", ["/home/me/project"])
    'bench/run.py'
    >>> stable_file("/elsewhere/run.py", ["/home/me/project"])
    'run.py'
    """
    for root in roots:
        prefix = root.rstrip(os.sep) + os.sep
        if len(prefix) > 1 and file.startswith(prefix):
            return file[len(prefix) :].replace(os.sep, "/")
    return os.path.basename(file) or file


def short_name(info_place: Place | None, label: str) -> str:
    """Return a name for people: function, file and line, and the label."""
    if info_place is None:
        where = "unknown place"
    elif is_generated(info_place.file):
        where = COMPILED
    else:
        spot = f"{os.path.basename(info_place.file)}:{info_place.line}"
        function = info_place.function
        where = spot if function in ("", "<module>") else f"{function} ({spot})"
    return f"{where}, {label}" if label else where


def place_key(place: Place | None, roots: list[str]) -> str:
    """Return the part of a graph's key that says where it was captured."""
    if place is None:
        return "unknown"
    if is_generated(place.file):
        return COMPILED
    file = stable_file(place.file, roots)
    function = place.function.replace("<module>", "module").replace("<lambda>", "lambda")
    return f"{file}:{function}" if function else file


def current_exception() -> tuple[int, BaseException | None]:
    """Return the exception being handled and an identity for it that keeps nothing alive."""
    error: Any = sys.exc_info()[1]
    return id(error) if error is not None else 0, error
