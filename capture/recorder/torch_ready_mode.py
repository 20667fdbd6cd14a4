"""The fake tensor mode of a dry run: every operator passes here, and none has data.

Tensors "on cuda" are fake tensors whose device is ``lazy`` below Python: PyTorch's autograd engine
runs that one in the calling thread, and needs neither a GPU nor a build with CUDA for it. What the
script sees says ``cuda``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch._higher_order_ops.utils import registered_hop_fake_fns
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode

from .ready_log import Log, user_stack
from .ready_streams import World
from .torch_ready_call import Call, set_known
from .torch_ready_handlers import HANDLERS

BELOW = "lazy"
"""Type of the device that stands for ``cuda`` below Python."""

UNKNOWN_TO_GRAPH = "the graph does not know this generator, so replays could not advance it"
REGISTER = "register it before the capture: `graph.register_generator_state(generator)`"
TWO_DEVICES = "its tensors are on different devices"
OTHER_DEVICE = "it runs on another GPU than the one whose stream is captured"
CAPTURE_THERE = "capture it on its own GPU, in a graph of its own"
ONE_DEVICE = "move everything to the GPU before the capture"

local = threading.local()


def depth() -> int:
    """Return how deep this thread is inside the dispatch of an operator."""
    level: int = getattr(local, "depth", 0)
    return level


def below(device: Any) -> Any:
    """Return the device that stands for one below Python; others as they are."""
    if isinstance(device, int) and not isinstance(device, bool):
        return torch.device(BELOW, device)
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device) and device.type == "cuda":
        return torch.device(BELOW, device.index or 0)
    return device


def above(device: torch.device) -> torch.device:
    """Return the device that the script sees."""
    return torch.device("cuda", device.index or 0) if device.type == BELOW else device


class ReadyMode(FakeTensorMode):  # type: ignore[no-untyped-call]
    """Runs operators on fake tensors and reports those that break a capture."""

    def __init__(self, log: Log, world: World) -> None:
        super().__init__(allow_non_fake_inputs=True)
        self.log = log
        self.world = world

    def site(self) -> tuple[Any, ...]:
        """Return the user's line that is running."""
        stack = user_stack()
        return (stack[0].file, stack[0].line) if stack else ()

    @staticmethod
    def function_name(default: str) -> str:
        """Return what the script called, else `default`."""
        return getattr(local, "function", "") or default

    @staticmethod
    def writes_number() -> bool:
        """Say whether the script writes a number into a place of a tensor."""
        number: bool = getattr(local, "number", False)
        return number and getattr(local, "function", "") == "Tensor.__setitem__"

    supports_higher_order_operators = True

    def _higher_order(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> Any:
        """Run an operator that takes functions, as torch's own fake mode does."""
        level = depth()
        if level == 0:
            self.log.work()
            self.world.work(str(func))
        local.depth = level + 1
        try:
            if func in registered_hop_fake_fns:
                return super().__torch_dispatch__(func, types, args, kwargs)
            return func.python_key_table[FakeTensorMode](self, *args, **kwargs)
        finally:
            local.depth = level

    @property
    def avoid_device_init(self) -> bool:
        """Never touch a GPU: this process is not to see one."""
        return True

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run one operator."""
        if isinstance(func, torch._ops.HigherOrderOperator):
            return self._higher_order(func, types, args, kwargs or {})
        named = dict(kwargs or {})
        if named.get("device") is not None:
            named["device"] = below(named["device"])
        level = depth()

        def run(*own_args: Any, **own_kwargs: Any) -> Any:
            if own_kwargs.get("pin_memory"):
                own_kwargs["pin_memory"] = False  # fake tensors know of no pinned memory
            return super(ReadyMode, self).__torch_dispatch__(func, types, own_args, own_kwargs)

        local.depth = level + 1
        try:
            call = Call(self, func, tuple(args), named, run, outermost=level == 0)
            if call.is_known:
                return set_known(func(*args, **named))
            if level == 0 and call.on_gpu:
                self.log.work()
                self.world.work(call.name)
                if any(number != self.world.device for number in call.devices()):
                    call.report("wrong_device", OTHER_DEVICE, CAPTURE_THERE)
                for generator in call.generators():
                    if not self.world.knows(generator):
                        call.report("random_generator", UNKNOWN_TO_GRAPH, REGISTER)
            handler = HANDLERS.get(func._schema.name.removeprefix("aten::"))
            try:
                if handler is None or call.is_constant:
                    result = run(*args, **named)
                else:
                    result = handler(call)
            except RuntimeError as error:
                # torch has a class of its own for it from 2.13 on, and before only the words.
                if "two devices" in str(error) or "two different devices" in str(error):
                    call.report("wrong_device", TWO_DEVICES, ONE_DEVICE)
                raise
            if call.outermost:
                call.follow_pinned(result)
            return result
        finally:
            local.depth = level


class DeviceNames(TorchFunctionMode):
    """Translates ``cuda`` in calls that compare devices before they reach the dispatcher."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run one function of torch."""
        named = dict(kwargs or {})
        if named.get("device") is not None:
            named["device"] = below(named["device"])
        if func is torch.Tensor.cuda:
            func, args, named = _cuda(args, named)
        elif func is torch.Tensor.to:
            args = [_translated(arg) for arg in args]
        elif func is torch.Tensor.__setitem__:
            local.number = isinstance(args[2], (int, float, complex))
        with in_function(name_of(func)):
            return func(*args, **named)


@contextmanager
def in_function(name: str) -> Iterator[None]:
    """Name what the script called, for what is found meanwhile; the outermost name stays."""
    outer = getattr(local, "function", "")
    local.function = outer or name
    try:
        yield
    finally:
        local.function = outer


def _cuda(args: Sequence[Any], named: dict[str, Any]) -> tuple[Any, Sequence[Any], dict[str, Any]]:
    device = args[1] if len(args) > 1 else named.pop("device", None)
    if isinstance(device, int):
        device = torch.device(BELOW, device)
    named["device"] = below(device) if device is not None else torch.device(BELOW, 0)
    if len(args) > 2:
        named["non_blocking"] = args[2]
    return torch.Tensor.to, args[:1], named


def _translated(value: Any) -> Any:
    if isinstance(value, torch.device) or (isinstance(value, str) and value.startswith("cuda")):
        return below(value)
    return value


def name_of(func: Any) -> str:
    """Return a name of a function of torch, as people write it."""
    name = getattr(func, "__name__", str(func))
    if name in ("__get__", "__set__"):
        return ""
    owner = getattr(func, "__objclass__", None)
    if owner is not None:
        return f"Tensor.{name}"
    module = getattr(func, "__module__", None) or "torch"
    return name if module.startswith("torch._C") else f"{module}.{name}"
