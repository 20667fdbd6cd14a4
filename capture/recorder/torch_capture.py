"""Capturing a function that makes no graph itself: warm up, capture, instantiate, replay."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import MissingDependencyError, NoGpuError
from ..model import Place
from .handles import handle_of
from .places import Spot
from .session import Session

WARM_UPS = 3
REPLAYS = 3
MOST_WRAPPERS = 100
"""Decorators around a function that are looked through; a circle of them ends here."""


def require_torch() -> Any:
    """Return the torch module, with a GPU to capture on.

    Raises
    ------
    MissingDependencyError
        torch is not installed, or built without CUDA.
    NoGpuError
        torch sees no device.
    """
    import sys

    try:
        import torch
        import torch.cuda.graphs
    except ImportError as error:
        raise MissingDependencyError(
            f"{error.name or 'torch'} is not installed for {sys.executable}: recording needs torch "
            f"2.6 or newer with CUDA (https://pytorch.org/get-started) and cuda-bindings"
        ) from error
    if torch.version.cuda is None:
        raise MissingDependencyError(
            f"torch {torch.__version__} is built without CUDA: install a CUDA build, "
            f"2.6 or newer (https://pytorch.org/get-started)"
        )
    if not torch.cuda.is_available():
        raise NoGpuError(
            "cuInit",
            100,
            "CUDA_ERROR_NO_DEVICE",
            "torch sees no CUDA device: check nvidia-smi and CUDA_VISIBLE_DEVICES, or run "
            "`cglens doctor`",
        )
    return torch


def capture_function(
    session: Session,
    function: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    warmup: int = WARM_UPS,
    replays: int = REPLAYS,
) -> int | None:
    """Capture a function while a session listens.

    It is called `warmup` times on a side stream, captured, and the graph is replayed. A function
    that captures graphs of its own is left to it and called once. One that returns a graph or its
    handle has built it.

    Returns
    -------
    int or None
        Handle of the graph that the function returned; ``None`` when graphs were captured.

    Notes
    -----
    Replays change what the function changes (parameters of an optimizer step, a cache). With
    `replays` of 1 or more the last replay is compared with one eager call, from the same state of
    torch's random number generator.
    """
    kwargs = kwargs or {}
    torch = require_torch()
    session.driver()
    before = session.captured_count + session.failed_count
    current = torch.cuda.current_stream()
    side = torch.cuda.Stream()
    side.wait_stream(current)
    with torch.cuda.stream(side):
        for _ in range(warmup):
            result = function(*args, **kwargs)
            handle = handle_of(result)
            if handle is not None:
                return handle
            if session.captured_count + session.failed_count > before:
                break
            del result
    current.wait_stream(side)
    torch.cuda.synchronize()
    if session.captured_count + session.failed_count > before:
        return None
    graph = torch.cuda.CUDAGraph()
    with _as_ours(session, place_of(function)), torch.cuda.graph(graph):
        output = function(*args, **kwargs)
    session.called(graph, functools.partial(function, *args, **kwargs))
    if replays > 0:
        for _ in range(replays - 1):
            graph.replay()
        session.note(graph, "eager", _against_eager(torch, graph, output, function, args, kwargs))
    return None


def place_of(function: Any) -> Place | None:
    """Return where a callable is defined; ``None`` for one that is not written in Python."""
    for _ in range(MOST_WRAPPERS):
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.FunctionType) and hasattr(function, "__wrapped__"):
            function = function.__wrapped__  # such as that of @torch.no_grad()
        else:
            break
    code = getattr(function, "__code__", None)
    if code is None:
        kind = vars(type(function))
        method = kind.get("forward") or kind.get("__call__")
        code = getattr(method, "__code__", None)
    if code is None:
        return None
    return Place(file=code.co_filename, line=code.co_firstlineno, function=code.co_qualname)


@contextmanager
def _as_ours(session: Session, place: Place | None) -> Iterator[None]:
    session.ours.spot = Spot(place, [], "", False, False)
    try:
        yield
    finally:
        session.ours.spot = None


def _against_eager(
    torch: Any,
    graph: Any,
    output: Any,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> dict[str, Any]:
    random_state = torch.cuda.get_rng_state()
    graph.replay()
    torch.cuda.synchronize()
    replayed = [tensor.detach().clone() for tensor in _tensors(torch, output)]
    if not replayed:
        return {"result": "not comparable", "reason": "the function returned no tensor"}
    torch.cuda.set_rng_state(random_state)
    eager = [tensor.detach() for tensor in _tensors(torch, function(*args, **kwargs))]
    torch.cuda.synchronize()
    note = (
        "one replay against one eager call after it, from the same random state; a function that "
        "changes what it reads differs for that reason"
    )
    if len(eager) != len(replayed) or any(
        a.shape != b.shape or a.dtype != b.dtype for a, b in zip(replayed, eager, strict=True)
    ):
        return {"result": "not comparable", "reason": "the two calls returned other tensors"}
    if all(torch.equal(a, b) for a, b in zip(replayed, eager, strict=True)):
        return {"result": "equal", "tensors": len(eager), "note": note}
    floats = [
        (a.double() - b.double()).abs().max().item()
        for a, b in zip(replayed, eager, strict=True)
        if a.numel() and not a.is_complex()
    ]
    return {
        "result": "differs",
        "tensors": len(eager),
        "largest_difference": max(floats, default=None),
        "note": note,
    }


def _tensors(torch: Any, value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [item for part in value.values() for item in _tensors(torch, part)]
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in _tensors(torch, part)]
    return []
