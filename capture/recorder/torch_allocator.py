"""What torch's caching allocator of this process says of itself; feature-detected."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..memory_map import Counters

_hiding = threading.Lock()


@contextmanager
def compiler_left_out() -> Iterator[None]:
    """Keep torch's snapshot from importing torch's compiler, which takes seconds.

    It asks for ``torch._inductor``, to name lines of compiled code, and the module imports what is
    asked for. Where nobody has imported the compiler there is no such line.
    """
    import torch

    lazy = getattr(torch, "_lazy_modules", None)
    name = "_inductor"
    with _hiding:
        hide = isinstance(lazy, set) and name in lazy and f"torch.{name}" not in sys.modules
        if not hide or lazy is None:
            yield
            return
        lazy.discard(name)
        try:
            yield
        finally:
            lazy.add(name)


def memory_segments() -> list[dict[str, Any]]:
    """Return what torch's allocator holds."""
    import torch

    snapshot: Callable[..., list[dict[str, Any]]] = torch.cuda.memory_snapshot
    with compiler_left_out():
        try:
            return snapshot(include_traces=False)
        except TypeError:
            return snapshot()


def segments_and_traces() -> tuple[list[dict[str, Any]], list[list[dict[str, Any]]]]:
    """Return what torch's allocator holds, and its memory history, one list per device."""
    import torch

    with compiler_left_out():
        found: dict[str, Any] = torch._C._cuda_memorySnapshot(None)
    return found["segments"], found["device_traces"]


def device_traces() -> list[list[dict[str, Any]]]:
    """Return torch's memory history, one list per device."""
    import torch

    with compiler_left_out():
        found: list[list[dict[str, Any]]] = torch._C._cuda_memorySnapshot(None)["device_traces"]
    return found


def backend() -> str:
    """Return the allocator's name, ``"native"`` for torch's own."""
    import torch

    return str(torch.cuda.memory.get_allocator_backend())


def history_is_on() -> bool | None:
    """Say whether memory history is on; ``None`` where this torch does not tell."""
    import torch

    ask = getattr(torch._C, "_cuda_isHistoryEnabled", None)
    return None if ask is None else bool(ask())


def switch_history_on(entries: int) -> None:
    """Record stacks of allocations, and the last `entries` events, beginning with none."""
    import torch

    switch: Any = torch.cuda.memory._record_memory_history
    switch = getattr(switch, "__wrapped__", switch)
    options: dict[str, Any] = {"stacks": "python", "max_entries": entries}
    known = inspect.signature(switch).parameters
    if "clear_history" in known:
        options["clear_history"] = True
    switch("all", **options)


def watch_history(called: Callable[[Any, int | None], None]) -> None:
    """Call ``called(enabled, limit)`` before the script switches memory history itself.

    `limit` is how many events it is to keep; ``None`` where that cannot be told.
    """
    # In the middle of torch's own import, `torch` has no attribute `cuda` yet.
    module: Any = sys.modules["torch.cuda.memory"]
    original = module._record_memory_history
    try:
        known = inspect.signature(original)
    except (TypeError, ValueError):
        known = None

    @functools.wraps(original)
    def _record_memory_history(*args: Any, **kwargs: Any) -> Any:
        enabled, limit = args[0] if args else kwargs.get("enabled", "all"), None
        with suppress(Exception):
            if known is not None and not isinstance(enabled, bool):
                bound = known.bind(*args, **kwargs)
                bound.apply_defaults()
                limit = int(bound.arguments["max_entries"])
        with suppress(Exception):
            called(enabled, limit)
        return original(*args, **kwargs)

    module._record_memory_history = _record_memory_history


def when_initialised(call: Callable[[], None]) -> bool:
    """Run something as soon as CUDA is initialised; say whether this torch can do that."""
    cuda: Any = sys.modules.get("torch.cuda")
    later = getattr(cuda, "_lazy_call", None)
    if later is None:
        return False
    later(call)
    return True


_COUNTED = {
    "reserved_bytes": ("reserved_bytes", "current"),
    "allocated_bytes": ("allocated_bytes", "current"),
    "active_bytes": ("active_bytes", "current"),
    "requested_bytes": ("requested_bytes", "current"),
    "peak_reserved_bytes": ("reserved_bytes", "peak"),
    "peak_allocated_bytes": ("allocated_bytes", "peak"),
}


def counters(mark: int, device: int) -> Counters:
    """Return torch's own counters of a device."""
    import torch

    stats: Any = torch.cuda.memory.memory_stats_as_nested_dict(device)
    found = Counters(mark=mark, device=device)
    for field, (name, kind) in _COUNTED.items():
        with suppress(KeyError, TypeError):
            setattr(found, field, int(stats[name]["all"][kind]))
    return found


def events_until_now(device: int) -> int:
    """Return about how many events a history of a device's whole life would hold."""
    import torch

    stats: Any = torch.cuda.memory.memory_stats_as_nested_dict(device)
    found = stats.get("allocation", {}).get("all", {})  # its flat form would take ten times longer
    # A free is two events: asked for, and done.
    return int(found.get("allocated", 0)) + 2 * int(found.get("freed", 0))


def workspace_sizes() -> list[int]:
    """Return the bytes that workspaces of cuBLAS and cuBLASLt have, where torch tells them."""
    import torch

    found = set()
    for name in ("_cuda_getCublasWorkspaceSize", "_cuda_getCublasLtWorkspaceSize"):
        ask = getattr(torch._C, name, None)
        if ask is not None:
            with suppress(Exception):
                found.add(int(ask()))
    if not found:
        # Pairs of size and count, such as ":4096:2:16:8".
        pairs = re.findall(r":(\d+):(\d+)", os.environ.get("CUBLAS_WORKSPACE_CONFIG", ""))
        found.add(sum(int(size) * int(count) for size, count in pairs) * 1024)
    return sorted(size for size in found if size > 0)
