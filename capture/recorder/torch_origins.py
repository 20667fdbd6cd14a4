"""Watches torch's operators while graphs are captured.

A ``TorchDispatchMode`` would see them too, but it changes what is captured: while one is active
torch takes every tensor for a subclass, and its derivatives use other operators (``scatter`` for
``scatter_``, ``add`` for ``add_``), which become other nodes. So operators are seen from a
dispatch key that torch itself leaves free, below autograd: a fallback in Python is registered for
it once, and the key is switched on for the capturing thread, which autograd's threads inherit.

torch's compiler guards on the keys of a thread, so the key is off wherever it looks at them, see
:mod:`capture.recorder.torch_origins_patches`.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from itertools import islice
from threading import get_ident
from time import perf_counter_ns as clock
from types import FrameType
from typing import Any, NamedTuple

from ..driver.protocol import Driver
from ..driver.records import NOT_CAPTURING, Tip
from .frame_locals import variable
from .left_out import Omissions
from .origins import labels
from .origins.log import FIRST_LAUNCH, Launch, Log
from .origins.modules import NO_MODULE, Modules
from .origins.stacks import NO_BASE, NO_STACK, Base, Stacks

KEY = "Fake"
"""A dispatch key for out-of-core fake tensors, which no part of torch 2.6 to 2.13 registers."""
UNSEEN = (
    "alias",
    "as_strided",
    "detach",
    "detach_alias",
    "empty.memory_format",
    "empty_like",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "permute",
    "squeeze",
    "squeeze.dim",
    "t",
    "transpose.int",
    "unsqueeze",
    "view",
)
"""Operators that are passed over: they and their derivatives launch nothing. torch also makes
tensor subclasses of what ``detach`` and ``alias`` return, which must not have been in Python."""
LAUNCHING_NOTHING = frozenset(
    f"aten.{name}"
    for name in (
        "_unsafe_view.default",
        "diagonal.default",
        "expand.default",
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
MAX_FORWARDS = 50_000
"""Autograd nodes whose forward is remembered for a backward in another graph."""
MOST_NODES_A_CALL = 64
MOST_OF_ONE_NUMBER = 4
"""Threads number their autograd nodes each for itself."""
SAMPLE = 16
"""One operator of so many is timed, to tell what recording costs."""
NUMBERS = (int, float, bool, complex)
_LEAVING = ("capture_begin", "__enter__", "enter_context")
"""Functions that begin a capture and return."""


class Thread:
    """What is remembered of one thread while it works for a capture."""

    __slots__ = ("driver", "ident", "kept_labels", "labels", "number", "tips")

    def __init__(self, driver: Driver, ident: int, number: int) -> None:
        self.driver = driver
        self.ident = ident
        self.labels = labels.stack_of(ident)
        self.kept_labels = len(self.labels)
        self.number = number
        self.tips: dict[int, Callable[[], Tip]] = {}

    def tip(self, stream: int) -> Callable[[], Tip]:
        """Return what tells the last node on a stream, made when first asked for."""
        found = self.tips.get(stream)
        if found is None:
            found = self.tips[stream] = self.driver.capture_tip(stream)
        return found


class Forward(NamedTuple):
    """The forward of an autograd node."""

    name: str
    stack: int
    module: int


class Operator(NamedTuple):
    """What is known of an operator.

    Attributes
    ----------
    operator : OpOverload
        Kept, so that its identity stands for it.
    name : str
    numbers : tuple of int
        Positions of tensors for which numbers may be given.
    label : int
        1 for the begin of a ``record_function``, 2 for its end.
    launches : bool
        Whether it may launch something.
    """

    operator: Any
    name: str
    numbers: tuple[int, ...]
    label: int
    launches: bool


class Watched:
    """One capture that is being watched.

    Attributes
    ----------
    log : Log
    problem : str
        The first thing that failed; empty while all is well.
    broke : tuple or None
        (operator, stack, thread, stream) of the first operator after which the capture was no
        longer valid.
    """

    def __init__(self, capture_id: int, base: Base, thread: int) -> None:
        self.capture_id = capture_id
        self.base = base
        self.thread = thread
        self.log = Log()
        self.omitted = Omissions()
        self.threads: dict[int, Thread] = {}
        self.tasks: dict[int, int] = {}
        self.problem = ""
        self.broke: tuple[str, int, int, int] | None = None
        self.latest: tuple[Any, int, int] | None = None
        self.seen = 0
        self.sampled_ns = 0
        self.sampled = 0
        self.fixed_ns = 0

    @property
    def cost_ns(self) -> int:
        """What watching cost, from the operators that were timed."""
        a_call = self.sampled_ns / self.sampled if self.sampled else 0
        return int(a_call * self.seen) + self.fixed_ns


class Watcher:
    """The operators of this process, seen while at least one capture is open.

    Parameters
    ----------
    current_stream : callable, optional
        Returns the handle of the stream that operators of this thread go to.

    Raises
    ------
    AttributeError, RuntimeError
        This torch cannot be watched in this way.
    """

    def __init__(self, current_stream: Callable[[], int] | None = None) -> None:
        import torch as module

        torch: Any = module
        self.torch = torch
        self.current_stream = current_stream or stream_reader(torch)
        self.stacks = Stacks()
        self.modules = Modules(variable_reader(), lambda value: isinstance(value, torch.nn.Module))
        self.forwards: dict[int, list[Forward]] = {}
        self.open: dict[int, Watched] = {}
        """By number of the capture, as CUDA gives it."""
        self.paused: set[int] = set()
        """Threads in which the key is off for a while."""
        self._lock = threading.Lock()
        core = torch._C
        self.key = core._parse_dispatch_key(KEY)
        self.next_number: Callable[[], int] = torch.autograd._get_sequence_nr
        self.switch: Callable[[Any, bool], None] = core._dispatch_tls_set_dispatch_key_included
        self.is_on: Callable[[Any], bool] = core._dispatch_tls_is_dispatch_key_included
        self._call = getattr(torch.nn.Module._call_impl, "__code__", None)
        self._operators: dict[int, Operator] = {}
        self._describe_arguments = argument_reader(torch)
        self._register()

    def _register(self) -> None:
        """Register the fallback, for the rest of the process."""
        from torch import library

        Library: Any = library.Library  # noqa: N806 - a class

        # Kept: what a library registered goes when it does.
        self._libraries = Library("_", "IMPL"), Library("aten", "IMPL")
        fallback = self._make_fallback()
        self._libraries[0].fallback(fallback, KEY, with_keyset=True)
        for name in UNSEEN:
            try:
                self._libraries[1].impl(name, library.fallthrough_kernel, KEY)
            except (RuntimeError, AttributeError):
                continue  # this torch has no such operator
        hide_from_compiler(fallback, self._note, self._where, self.note_launch)
        for operator in set(self.torch._ops._higher_order_ops.values()):
            keys = getattr(operator, "non_fallthrough_keys", None)
            if keys is not None:
                operator.non_fallthrough_keys = keys.remove(self.key)

    # While operators run

    def watched(self, stream: int) -> Watched | None:
        """Return the capture that a stream belongs to."""
        found = self.open
        if len(found) == 1:
            return next(iter(found.values()))
        for watched in list(found.values()):
            try:
                thread = next(iter(watched.threads.values()))
                return found.get(thread.driver.capture_info(stream).id)
            except Exception:
                return None
        return None

    def thread(self, watched: Watched) -> Thread:
        """Return this thread's part of a capture."""
        ident = get_ident()
        found = watched.threads.get(ident)
        if found is None:
            some = next(iter(watched.threads.values()))
            found = watched.threads[ident] = Thread(some.driver, ident, self.next_number())
        return found

    def _make_fallback(self) -> Callable[..., Any]:
        core = self.torch._C
        after = core._dispatch_keyset_full_after(self.key)
        above = core._dispatch_keyset_full() - after
        exclude, transforms = core._ExcludeDispatchKeyGuard, core._functorch.maybe_current_level
        current_stream, next_number = self.current_stream, self.next_number
        key, switch, operators, note = self.key, self.switch, self._operators, self._note
        known, find, opened, describe = self.open, self.watched, self.thread, self._describe

        def observe(keys: Any, operator: Any, *args: Any, **kwargs: Any) -> Any:
            watched: Watched | None = None
            switch(key, False)
            try:
                about = operators.get(id(operator)) or describe(operator)
                launches = about.launches
                started = 0
                if known:
                    try:
                        stream = current_stream()
                        watched = next(iter(known.values())) if len(known) == 1 else find(stream)
                        if watched is not None:
                            watched.seen += 1
                            if not watched.seen % SAMPLE:
                                started = clock()
                            ident = get_ident()
                            thread = watched.threads.get(ident) or opened(watched)
                            tip = thread.tips.get(stream) or thread.tip(stream)
                            before = tip() if launches else 0
                            rows = len(watched.log.flat)
                            watched.latest = about.name, stream, ident
                            if started:
                                started = clock() - started
                    except Exception as error:
                        self.failed(watched, error)
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
                        begun = clock() if started else 0
                        now = tip() if launches else before
                        number = next_number()
                        if now == NOT_CAPTURING and before == now:
                            watched.omitted.note(
                                about.operator, args, kwargs, stream, sys._getframe(0).f_back
                            )
                        if now != before or number != thread.number:
                            note(
                                watched,
                                thread,
                                about,
                                args,
                                kwargs,
                                before,
                                now,
                                stream,
                                number,
                                rows,
                                sys._getframe(0).f_back,
                            )
                        if about.label:
                            _labelled(thread, about.label, args)
                        if started:
                            watched.sampled += 1
                            watched.sampled_ns += clock() - begun + started
                    except Exception as error:
                        self.failed(watched, error)
                return result
            except BaseException:
                if watched is not None:
                    self._raised(watched, about.name, stream, sys._getframe(0).f_back)
                raise
            finally:
                # Off for good once nothing is captured any more: a guard of the user's may have
                # put the key back that was on when it was entered.
                if known:
                    switch(key, True)

        return observe

    def _describe(self, operator: Any) -> Operator:
        schema = operator._schema
        plain = schema.name.partition("::")[2]
        numbers: tuple[int, ...] = ()
        if self.torch._C._should_allow_numbers_as_tensors(plain):
            numbers = tuple(
                at for at, item in enumerate(schema.arguments) if str(item.type) == "Tensor"
            )
        label = {"_record_function_enter_new": 1, "_record_function_exit": 2}.get(plain, 0)
        name = str(operator)
        launches = name not in LAUNCHING_NOTHING and not label
        found = self._operators[id(operator)] = Operator(operator, name, numbers, label, launches)
        return found

    def _note(
        self,
        watched: Watched,
        thread: Thread,
        about: Operator,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        before: Tip,
        now: Tip,
        stream: int,
        number: int,
        rows: int,
        frame: FrameType | None,
    ) -> None:
        """Write the row of an operator that made nodes, of the graph or of autograd's."""
        if now == NOT_CAPTURING:
            if before != NOT_CAPTURING:
                self._broke(watched, about.name, stream, frame)
            return
        call = -1
        log = watched.log
        if now != before:
            key = id(about.operator), *self._describe_arguments(args, kwargs)
            found = log.call_index.get(key)
            if found is None:
                found = log.call_index[key] = len(log.calls)
                log.calls.append((about.operator, key[1:]))
            call = found
        stack, module, node, node_number = self._where(watched, frame)
        log.flat += (
            call, before, now, stream, thread.ident, stack, module,
            thread.labels[-1] if thread.labels else "", node, node_number, number, rows,
        )  # fmt: skip
        if number != thread.number:
            self._remember(thread, number, Forward(about.name, stack, module))

    def _remember(self, thread: Thread, number: int, forward: Forward) -> None:
        """Keep the forward of the autograd nodes that were made since the last one."""
        forwards = self.forwards
        for made in range(max(thread.number, number - MOST_NODES_A_CALL), number):
            same = forwards.setdefault(made, [])
            same.append(forward)
            if len(same) > MOST_OF_ONE_NUMBER:
                del same[0]
        thread.number = number
        if len(forwards) > MAX_FORWARDS:
            for old in list(islice(forwards, MAX_FORWARDS // 2)):
                del forwards[old]

    def _where(self, watched: Watched, frame: FrameType | None) -> tuple[int, int, str, int]:
        """Return (stack, module, autograd node, its number) of what runs."""
        node = self.torch._C._current_autograd_node()
        name, number, outer = "", -1, NO_STACK
        if node is not None:
            name, number = node.name(), node._sequence_nr()
            if get_ident() != watched.thread:
                outer = self._called_backward(watched)
        stack, called, based = self.stacks.walk(frame, watched.base, self._call, outer)
        if called is not None:
            module = self.modules.of(called)
        else:
            module = watched.base.module if based else NO_MODULE
        return stack, module, name, number

    def _called_backward(self, watched: Watched) -> int:
        """Return the stack of the thread that waits for autograd, found once per backward."""
        task = self.torch._C._current_graph_task_id()
        found = watched.tasks.get(task)
        if found is None:
            frame = sys._current_frames().get(watched.thread)
            found = watched.tasks[task] = self.stacks.walk(frame, watched.base)[0]
        return found

    def note_launch(self, launch: Launch, frame: FrameType | None, run: Callable[[], Any]) -> Any:
        """Run what launches a kernel outside of operators, and write its row."""
        watched: Watched | None = None
        try:
            stream = self.current_stream()
            watched = self.watched(stream) if self.open else None
            if watched is not None:
                started = clock()
                thread = self.thread(watched)
                tip = thread.tip(stream)
                before, rows = tip(), len(watched.log.flat)
                watched.latest = launch.name, stream, thread.ident
                watched.fixed_ns += clock() - started
        except Exception as error:
            self.failed(watched, error)
            watched = None
        result = run()
        if watched is not None:
            try:
                started = clock()
                now = tip()
                if now not in (before, NOT_CAPTURING):
                    self._launched(watched, thread, launch, before, now, stream, rows, frame)
                watched.fixed_ns += clock() - started
            except Exception as error:
                self.failed(watched, error)
        return result

    def _launched(
        self,
        watched: Watched,
        thread: Thread,
        launch: Launch,
        before: Tip,
        now: Tip,
        stream: int,
        rows: int,
        frame: FrameType | None,
    ) -> None:
        log = watched.log
        at = log.launch_index.setdefault(launch, len(log.launches))
        if at == len(log.launches):
            log.launches.append(launch)
        stack, module, node, node_number = self._where(watched, frame)
        number = self.next_number()
        log.flat += (
            FIRST_LAUNCH - at, before, now, stream, thread.ident, stack, module,
            thread.labels[-1] if thread.labels else "", node, node_number, number, rows,
        )  # fmt: skip
        if number != thread.number:
            self._remember(thread, number, Forward(launch.name, stack, module))

    def _raised(
        self, watched: Watched, operator: str, stream: int, frame: FrameType | None
    ) -> None:
        """Note the operator that raised, if the capture went with it."""
        try:
            if watched.broke is None and self.thread(watched).tip(stream)() == NOT_CAPTURING:
                self._broke(watched, operator, stream, frame)
        except Exception as error:
            self.failed(watched, error)

    def _broke(self, watched: Watched, operator: str, stream: int, frame: FrameType | None) -> None:
        if watched.broke is None:
            stack = self._where(watched, frame)[0]
            watched.broke = operator, stack, get_ident(), stream

    def failed(self, watched: Watched | None, error: BaseException) -> None:
        """Note that our own work failed; the operator is not the poorer for it."""
        if watched is not None:
            watched.problem = watched.problem or f"{type(error).__name__}: {error}"

    # Captures

    def start(
        self, driver: Driver, capture_id: int, stream: int, frame: FrameType | None
    ) -> Watched:
        """Watch what this thread does, until :meth:`stop`."""
        started = clock()
        watched = Watched(capture_id, self._base(frame), get_ident())
        thread = watched.threads[get_ident()] = Thread(driver, get_ident(), self.next_number())
        thread.tip(stream)
        self.resume(watched)
        watched.fixed_ns = clock() - started
        return watched

    def _base(self, frame: FrameType | None) -> Base:
        """Return the innermost frame that runs as long as the capture."""
        while frame is not None and frame.f_code.co_name in _LEAVING:
            frame = frame.f_back
        if frame is None:
            return NO_BASE
        outer = self.stacks.walk(frame.f_back)[0]
        called = self.stacks.walk(frame, mark=self._call)[1]
        module = self.modules.of(called) if called is not None else NO_MODULE
        return Base(frame.f_code, id(frame), outer, module)

    def resume(self, watched: Watched) -> None:
        """Watch a capture of this thread's."""
        from .torch_origins_patches import PATCHES

        with self._lock:
            if not self.open:
                PATCHES.install(self)
            self.open[watched.capture_id] = watched
        self.switch(self.key, True)

    def stop(self, watched: Watched) -> None:
        """Stop watching a capture; may be called again, and from another thread."""
        from .torch_origins_patches import PATCHES

        with self._lock:
            ours = self.open.pop(watched.capture_id, None)
            if not self.open:
                PATCHES.remove()
        here = get_ident()
        self.paused.discard(here)
        for thread in watched.threads.values():
            # A range that was entered during the capture and not left again is of no use later.
            del thread.labels[thread.kept_labels :]
        if ours is not None and not any(item.thread == here for item in self.open.values()):
            self.switch(self.key, False)


def _labelled(thread: Thread, label: int, args: tuple[Any, ...]) -> None:
    """Follow ``record_function``, which torch enters and leaves through operators."""
    if label == 1:
        thread.labels.append(str(args[0]) if args else "")
    elif thread.labels:
        thread.labels.pop()


LIST_TENSORS = 4
"""Tensors that are described of a list of them."""


def argument_reader(torch: Any) -> Callable[..., tuple[Any, Any]]:
    """Return what reads (positional, named) arguments: nothing of it holds a tensor.

    Tensors become (dtype, shape, stride), lists of them the first few after their count, all else
    a pair of type and value or text.
    """
    tensor, parameter = torch.Tensor, torch.nn.Parameter
    plain = frozenset((int, float, bool, str, complex, type(None)))
    printed = (torch.dtype, torch.device, torch.memory_format, torch.layout)
    overridden, without = torch._C._len_torch_function_stack, torch._C.DisableTorchFunction
    without_subclass = torch._C.DisableTorchFunctionSubclass

    def read(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        if overridden():
            with without():
                return read_plainly(args, kwargs)
        return read_plainly(args, kwargs)

    def read_plainly(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        found: list[Any] = []
        for value in args:
            kind = type(value)
            if kind is tensor or kind is parameter:
                try:
                    found.append((value.dtype, value.shape, value.stride()))
                except RuntimeError:  # nested and sparse ones have no strides
                    found.append((value.dtype, (), ()))
            elif kind in plain:
                found.append((kind, value))
            else:
                found.append(other(value))
        if not kwargs:
            return tuple(found), ()
        named = read_plainly(tuple(kwargs.values()), {})[0]
        return tuple(found), tuple(zip(kwargs, named, strict=True))

    def other(value: Any) -> Any:
        kind = type(value)
        if kind is tuple or kind is list:
            if value and isinstance(value[0], tensor):
                return "tensors", len(value), read_plainly(tuple(value[:LIST_TENSORS]), {})[0]
            return tuple, str(value) if len(value) < 32 else f"{len(value)} values"
        if isinstance(value, tensor):
            with without_subclass():
                return value.dtype, tuple(value.shape), ()
        return kind, str(value) if kind in printed else f"<{kind.__name__}>"

    return read


def stream_reader(torch: Any) -> Callable[[], int]:
    """Return what tells the handle of this thread's current stream."""
    stream, device = torch._C._cuda_getCurrentRawStream, torch._C._cuda_getDevice
    return lambda: int(stream(device()))


def variable_reader() -> Callable[[FrameType, str], Any]:
    """Return :func:`variable`, or the quick form of it where Python has one."""
    if sys.version_info < (3, 12):
        return variable
    get = ctypes.pythonapi.PyFrame_GetVarString
    get.argtypes = (ctypes.py_object, ctypes.c_char_p)
    get.restype = ctypes.py_object
    names: dict[str, bytes] = {}

    def read(frame: FrameType, name: str) -> Any:
        try:
            return get(frame, names.get(name) or names.setdefault(name, name.encode()))
        except NameError:
            return None

    return read


def hide_from_compiler(*functions: Callable[..., Any]) -> None:
    """Keep torch's compiler from compiling our functions when it meets their frames."""
    try:
        from torch._C._dynamo import eval_frame
    except ImportError:
        return
    skip_code: Any = getattr(eval_frame, "skip_code", None)
    if skip_code is None:
        return
    for function in functions:
        code = getattr(function, "__code__", None)
        if code is not None:
            skip_code(code)
