"""Writes the rows of a log: what made nodes, where it was called, in which module and backward."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import get_ident
from time import time_ns
from types import FrameType
from typing import Any

from ..driver.records import NOT_CAPTURING, Tip
from .origins.log import FIRST_LAUNCH, Launch
from .origins.modules import NO_MODULE, Modules
from .origins.stacks import NO_BASE, NO_STACK, Base, Stacks
from .origins.watched import Forward, Forwards, Operator, Thread, Watched
from .torch_origins_reading import argument_reader, variable_reader

TRAILING = "aten._unsafe_view.default"
"""An operator that is passed over, and that others call as their last."""
_LEAVING = ("capture_begin", "__enter__", "enter_context")
"""Functions that begin a capture and return."""


class Rows:
    """The tables of this process that rows refer to, and what writes rows.

    Parameters
    ----------
    torch : module
    """

    def __init__(self, torch: Any) -> None:
        self.stacks = Stacks()
        self.variable = variable_reader()
        self.modules = Modules(self.variable, lambda value: isinstance(value, torch.nn.Module))
        self.forwards = Forwards()
        self.next_number: Callable[[], int] = torch.autograd._get_sequence_nr
        self._arguments = argument_reader(torch)
        self._node: Callable[[], Any] = torch._C._current_autograd_node
        self._task: Callable[[], int] = torch._C._current_graph_task_id
        self.call = getattr(torch.nn.Module._call_impl, "__code__", None)

    def operator(
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
        opened: int,
        frame: FrameType | None,
    ) -> None:
        """Write the row of an operator that made nodes, of the graph or of autograd's."""
        if now == NOT_CAPTURING:
            if before != NOT_CAPTURING:
                self.broke(watched, about.name, stream, frame)
            return
        call = -1
        if now != before:
            log = watched.log
            arguments = self._arguments(args, kwargs)
            key = about.name, arguments
            found = log.call_index.get(key)
            if found is None:
                found = log.call_index[key] = len(log.calls)
                log.calls.append((about.operator, arguments))
            call = found
        row = call, before, now, stream, number, opened
        self._write(watched, thread, about.name, row, frame)

    def launch(
        self,
        watched: Watched,
        thread: Thread,
        launch: Launch,
        before: Tip,
        now: Tip,
        stream: int,
        opened: int,
        frame: FrameType | None,
    ) -> None:
        """Write the row of a launch outside of operators."""
        what = FIRST_LAUNCH - watched.log.launch(launch)
        row = what, before, now, stream, self.next_number(), opened
        self._write(watched, thread, launch.name, row, frame)

    def _write(
        self,
        watched: Watched,
        thread: Thread,
        name: str,
        row: tuple[int, Tip, Tip, int, int, int],
        frame: FrameType | None,
    ) -> None:
        what, before, now, stream, number, opened = row
        stack, module, node, node_number = self._where(watched, frame)
        named = thread.labels
        watched.log.flat += (
            what, before, now, stream, thread.ident, stack, module,
            named[-1] if named else "", node, node_number, number, opened,
        )  # fmt: skip
        if watched.log.at_us is not None:
            watched.log.at_us.append(time_ns() // 1000)
        first = thread.number
        if number != first:
            if number != first + 1:
                trailing = Forward(TRAILING, thread.last_stack, thread.last_module)
                self.forwards.remember(first, number - 1, trailing)
            self.forwards.remember(first, number, Forward(name, stack, module))
            thread.number = number
        thread.last_stack, thread.last_module = stack, module

    def _where(self, watched: Watched, frame: FrameType | None) -> tuple[int, int, str, int]:
        """Return (stack, module, autograd node, its number) of what runs."""
        node = self._node()
        name, number, outer = "", -1, NO_STACK
        if node is not None:
            name, number = node.name(), node._sequence_nr()
            if get_ident() != watched.thread:
                outer = self._called_backward(watched)
        stack, called, based = self.stacks.walk(frame, watched.base, self.call, outer)
        if called is not None:
            module = self.modules.of(called)
        else:
            module = watched.base.module if based else NO_MODULE
        return stack, module, name, number

    def _called_backward(self, watched: Watched) -> int:
        """Return the stack of the thread that waits for autograd, found once per backward."""
        task = self._task()
        found = watched.tasks.get(task)
        if found is None:
            frame = sys._current_frames().get(watched.thread)
            found = watched.tasks[task] = self.stacks.walk(frame, watched.base)[0]
        return found

    def broke(self, watched: Watched, operator: str, stream: int, frame: FrameType | None) -> None:
        """Note in which operator the capture became invalid, the first time."""
        if watched.broke is None:
            watched.broke = operator, self._where(watched, frame)[0], get_ident(), stream

    def raised(
        self, watched: Watched, operator: str, tip: Tip, stream: int, frame: FrameType | None
    ) -> None:
        """Note an operator that raised, if the capture went with it."""
        if tip == NOT_CAPTURING:
            self.broke(watched, operator, stream, frame)

    def base(self, frame: FrameType | None) -> Base:
        """Return the innermost frame that runs as long as a capture that it has begun."""
        while frame is not None and frame.f_code.co_name in _LEAVING:
            frame = frame.f_back
        if frame is None:
            return NO_BASE
        outer = self.stacks.walk(frame.f_back)[0]
        called = self.stacks.walk(frame, mark=self.call)[1]
        module = self.modules.of(called) if called is not None else NO_MODULE
        return Base(frame.f_code, id(frame), outer, module)
