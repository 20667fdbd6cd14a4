"""What torch's caching allocator of this process says of itself; feature-detected."""

from __future__ import annotations

import functools
import gc
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from ..memory_map import Counters


def memory_segments() -> list[dict[str, Any]]:
    """Return what torch's allocator holds."""
    import torch

    snapshot: Callable[..., list[dict[str, Any]]] = torch.cuda.memory_snapshot
    try:
        return snapshot(include_traces=False)
    except TypeError:
        return snapshot()


def device_traces() -> list[list[dict[str, Any]]]:
    """Return torch's memory history, one list per device."""
    import torch

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


def watch_history(called: Callable[[], None]) -> None:
    """Call a function whenever the script switches memory history on or off itself."""
    # In the middle of torch's own import, `torch` has no attribute `cuda` yet.
    module: Any = sys.modules["torch.cuda.memory"]
    original = module._record_memory_history

    @functools.wraps(original)
    def _record_memory_history(*args: Any, **kwargs: Any) -> Any:
        called()
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


def named_storages() -> Iterator[tuple[int, int, str]]:
    """Yield (address, bytes, name) of parameters, buffers, gradients and optimizer state.

    Modules and optimizers that live anywhere in the process are found by the garbage collector.
    """
    import torch

    modules: list[Any] = []
    optimizers: list[Any] = []
    for item in gc.get_objects():
        # isinstance would ask proxies for their class.
        kind = type(item)
        if issubclass(kind, torch.nn.Module):
            modules.append(item)
        elif issubclass(kind, torch.optim.Optimizer):
            optimizers.append(item)
    children = {id(child) for module in modules for child in module._modules.values()}
    names: dict[int, str] = {}
    for root in modules:
        if id(root) in children:
            continue
        prefix = type(root).__name__
        for path, tensor in root.named_parameters(remove_duplicate=False):
            name = names.setdefault(id(tensor), f"{prefix}: {path}")
            yield from _storage(tensor, name)
            yield from _storage(tensor.grad, f"gradient of {name}")
        for path, tensor in root.named_buffers(remove_duplicate=False):
            yield from _storage(tensor, f"{prefix}: {path} (buffer)")
    for optimizer in optimizers:
        for parameter, state in optimizer.state.items():
            of = names.get(id(parameter), "a parameter")
            for field, value in state.items() if isinstance(state, dict) else ():
                if isinstance(value, torch.Tensor):
                    yield from _storage(value, f"{type(optimizer).__name__}: {field} of {of}")


def _storage(tensor: Any, name: str) -> Iterator[tuple[int, int, str]]:
    with suppress(Exception):  # fake and wrapped tensors have no memory
        if tensor is not None and tensor.is_cuda:
            storage = tensor.untyped_storage()
            if storage.nbytes():
                yield storage.data_ptr(), storage.nbytes(), name
