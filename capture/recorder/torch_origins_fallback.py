"""The kernel that every operator of a watched thread goes through, on its way to the device."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns as clock
from typing import TYPE_CHECKING, Any

from ..driver.records import NOT_CAPTURING, Tip
from ..failures.error_codes import UNSUPPORTED
from .origins.watched import Operator, Thread, Watched

if TYPE_CHECKING:
    from .torch_origins import Watcher

LAUNCHING_NOTHING = frozenset(
    f"aten.{name}"
    for name in (
        "diagonal.default",
        "lift_fresh.default",
        "select.int",
        "slice.Tensor",
        "split.Tensor",
        "split_with_sizes.default",
        "unbind.int",
        "unfold.default",
    )
)
"""Operators that launch nothing, while their derivatives may."""
SAMPLE = 16
"""One operator of so many is timed, to tell what recording costs."""
NUMBERS = (int, float, bool, complex)


class Slot:
    """An operator by its name, and what is known of it once it was called.

    Parameters
    ----------
    name, overload : str
        As the dispatcher has them, such as ``"aten::add"`` and ``"Tensor"``.
    """

    __slots__ = ("about", "name", "overload")

    def __init__(self, name: str, overload: str) -> None:
        self.name = name
        self.overload = overload
        self.about: Operator | None = None


def make_kernel(watcher: Watcher) -> Callable[..., Any]:
    """Return the kernel, which takes an operator's slot before its arguments.

    It runs for every operator of a capture, a few of them for each node: what it looks up is
    bound here, and it is one function. It calls the operator with what it was given and hands on
    its result or its exception; what fails in its own work becomes the capture's `problem`.
    """
    core = watcher.torch._C
    after = core._dispatch_keyset_full_after(watcher.key)
    above = core._dispatch_keyset_full() - after
    exclude, transforms = core._ExcludeDispatchKeyGuard, core._functorch.maybe_current_level
    current_stream, next_number = watcher.current_stream, watcher.rows.next_number
    key, switch, known = watcher.key, watcher.switch, watcher.open
    find, opened, rows = watcher.watched, watcher.thread, watcher.rows
    several, elsewhere = watcher.several, watcher.elsewhere
    ops, allows_numbers = watcher.torch.ops, core._should_allow_numbers_as_tensors

    def describe(slot: Slot) -> Operator:
        operator: Any = ops
        for part in (*slot.name.split("::"), slot.overload or "default"):
            operator = getattr(operator, part)
        found = slot.about = operator_of(operator, allows_numbers)
        return found

    def observe(slot: Slot, keys: Any, *args: Any, **kwargs: Any) -> Any:
        watched: Watched | None = None
        # What the operator itself calls is part of it.
        switch(key, False)
        try:
            about = slot.about or describe(slot)
            operator, launches = about.operator, about.launches
            if known:
                try:
                    stream = current_stream()
                    watched = watcher.single or find(stream)
                    if watched is not None:
                        started = 0
                        watched.seen += 1
                        if not watched.seen % SAMPLE:
                            started = clock()
                        ident = get_ident()
                        thread = watched.threads.get(ident) or opened(watched)
                        tip = thread.tips.get(stream) or thread.tip(stream)
                        before: Tip = tip() if launches else 0
                        begun = len(watched.log.flat)
                        watched.latest = about.name, stream, ident
                        if started:
                            started = clock() - started
                except Exception as error:
                    if watched is not None:
                        watched.failed(error)
                        watched = None
            for position in about.numbers:
                if position < len(args) and type(args[position]) in NUMBERS:
                    # Only a call from the top takes a number for a tensor.
                    if transforms() is None:
                        result = operator(*args, **kwargs)
                    else:
                        with exclude(above):
                            result = operator(*args, **kwargs)
                    break
            else:
                result = operator._handle.redispatch_boxed(keys & after, *args, **kwargs)
            if watched is not None:
                try:
                    ended = clock() if started else 0
                    now = tip() if launches else before
                    number = next_number()
                    if now == NOT_CAPTURING and before == now:
                        frame = sys._getframe(0).f_back
                        watched.omitted.note(operator, args, kwargs, stream, frame)
                    elif now != before or number != thread.number:
                        if several and now == before:
                            elsewhere(watched, thread, operator, args, kwargs, sys._getframe(0))
                        rows.operator(
                            watched, thread, about, args, kwargs, before, now, stream, number,
                            begun, sys._getframe(0).f_back,
                        )  # fmt: skip
                    elif several and launches:
                        elsewhere(watched, thread, operator, args, kwargs, sys._getframe(0))
                    if about.label:
                        labelled(thread, about.label, args)
                    if started:
                        watched.sampled += 1
                        watched.sampled_ns += clock() - ended + started
                except Exception as error:
                    watched.failed(error)
            return result
        except BaseException as problem:
            if watched is not None:
                try:
                    refused = getattr(problem, "error_code", None) == UNSUPPORTED
                    if refused and before == NOT_CAPTURING and not watched.outside:
                        watched.outside = about.name
                    rows.raised(watched, about.name, tip(), stream, sys._getframe(0).f_back)
                except Exception as error:
                    watched.failed(error)
            raise
        finally:
            # Off for good once nothing is captured any more: a guard of the script's may have put
            # the key back that was on when it was entered.
            if known:
                switch(key, True)

    return observe


def operator_of(operator: Any, allows_numbers: Callable[[str], bool]) -> Operator:
    """Describe an operator."""
    schema = operator._schema
    plain = schema.name.partition("::")[2]
    numbers: tuple[int, ...] = ()
    if allows_numbers(plain):
        numbers = tuple(
            at for at, item in enumerate(schema.arguments) if str(item.type) == "Tensor"
        )
    label = {"_record_function_enter_new": 1, "_record_function_exit": 2}.get(plain, 0)
    name = str(operator)
    launches = name not in LAUNCHING_NOTHING and not label
    return Operator(operator, name, numbers, label, launches)


def labelled(thread: Thread, label: int, args: tuple[Any, ...]) -> None:
    """Follow ``record_function``, which torch enters and leaves through operators."""
    if label == 1:
        thread.labels.append(str(args[0]) if args else "")
    elif thread.labels:
        thread.labels.pop()
