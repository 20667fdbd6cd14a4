"""Rows of a log become the columns of nodes: indices into small tables, each value once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ...origins import PHASES, Compiled, Frame, Module, Operator
from .calls import operator_of
from .context import Context, Provenance
from .log import FIRST_LAUNCH, Launch, Log, Row
from .modules import Known
from .stacks import Place, kind_of

_FORWARD, _BACKWARD, _OPTIMIZER = (PHASES.index(name) for name in PHASES[1:])
_OPTIMIZERS = "/torch/optim/"
_NO_OPTIMIZERS = ("lr_scheduler.py", "swa_utils.py")

T = TypeVar("T")


class _Table(list[T]):
    """A list in which each value is once."""

    def __init__(self) -> None:
        self._places: dict[Any, int] = {}

    def place(self, key: Any, make: Callable[[], T]) -> int:
        found = self._places.get(key)
        if found is None:
            value = make()  # which may add values of its own before this one
            found = self._places[key] = len(self)
            self.append(value)
        return found


class Columns(NamedTuple):
    """What the columns hold of a node, in the order of :data:`~capture.origins.NODE_COLUMNS`."""

    stack: int = -1
    operator: int = -1
    module: int = -1
    phase: int = -1
    autograd: int = -1
    forward: int = -1
    stream: int = -1
    thread: int = -1
    label: int = -1
    compiled: int = -1


class _Stack(NamedTuple):
    """What is asked of a stack for each of its rows."""

    shown: int
    is_optimizer: bool
    generated: Place | None
    """Its innermost place in code that a compiler wrote."""


class Builder:
    """Makes the tables of a graph, and looks each row up in them.

    Parameters
    ----------
    log : Log
    context : Context
    """

    def __init__(self, log: Log, context: Context) -> None:
        self.log = log
        self.context = context
        self.frames: _Table[Frame] = _Table()
        self.stacks: _Table[tuple[int, ...]] = _Table()
        self.operators: list[Operator] = []
        self.modules: list[Module] = []
        self.names: _Table[str] = _Table()
        self.compiled: _Table[Compiled] = _Table()
        self.went_backward = False
        self._inner: dict[int, int] = {}
        """By compiled kernel: the innermost module around its operators."""
        self._of_stack: dict[int, _Stack] = {}
        self._kinds: dict[str, str] = {}
        # Looked up for each row: what was found stays found.
        self._modules: dict[int, int] = {-1: -1}
        self._operators: dict[int, tuple[int, str]] = {}
        self._names: dict[str, int] = {"": -1}
        self._streams: dict[int, int] = {}
        self._threads: dict[int, int] = {}

    def frame(self, place: Place) -> int:
        """Return the index of a frame; -1 for one of ours."""
        file, line, function = place
        kind = self.kind(file)
        if kind == "ours":
            return -1
        return self.frames.place(place, lambda: Frame(file, line, function, kind))

    def kind(self, file: str) -> str:
        """Say whose a file is."""
        kind = self._kinds.get(file)
        if kind is None:
            kind = self._kinds[file] = kind_of(file)
        return kind

    def stack_of(self, places: Sequence[Place]) -> int:
        """Return the index of a stack, innermost first; -1 when nothing of it is shown."""
        frames = tuple(at for place in places if (at := self.frame(place)) >= 0)
        return self.stacks.place(frames, lambda: frames) if frames else -1

    def stack(self, index: int) -> _Stack:
        """Return what is known of a stack of the process."""
        found = self._of_stack.get(index)
        if found is None:
            places = self.context.stacks.places(index)
            found = self._of_stack[index] = _Stack(
                self.stack_of(places),
                any(_is_optimizer(place[0]) for place in places),
                next((place for place in places if self.kind(place[0]) == "generated"), None),
            )
        return found

    def name(self, text: str) -> int:
        """Return the index of a text; -1 for an empty one."""
        found = self._names.get(text)
        if found is None:
            found = self._names[text] = self.names.place(text, lambda: text)
        return found

    def stream(self, handle: int) -> int:
        """Return the index of a stream's name."""
        found = self._streams.get(handle)
        if found is None:
            found = self._streams[handle] = self.name(f"{handle:#x}")
        return found

    def thread(self, ident: int) -> int:
        """Return the index of a thread's name."""
        found = self._threads.get(ident)
        if found is None:
            name = self.context.threads.get(ident, f"thread {ident}")
            found = self._threads[ident] = self.name(name)
        return found

    def module(self, index: int) -> int:
        """Return the index here of a module of the process, parents first."""
        found = self._modules.get(index)
        if found is None:
            known = self.context.modules[index]
            parent = self.module(known.parent)
            found = self._modules[index] = len(self.modules)
            self.modules.append(
                Module(known.path, known.class_name, parent, known.file, known.line)
            )
        return found

    def operator(self, call: int) -> tuple[int, str]:
        """Return the index and the name of the operator of a call."""
        found = self._operators.get(call)
        if found is None:
            made = operator_of(*self.log.calls[call])
            found = self._operators[call] = len(self.operators), made.name
            self.operators.append(made)
        return found

    def launch(self, launch: Launch, stack: _Stack) -> int:
        """Return the index of a kernel that was launched outside of operators."""
        if launch.compiler != "triton":
            return self.provenance(launch.name, stack, parameters=launch.parameters)
        places = ((launch.file, launch.line, launch.function),)

        def make() -> Compiled:
            return Compiled(
                launch.name, stacks=_known(self.stack_of(places)), parameters=launch.parameters
            )

        return self.compiled.place(launch, make)

    def provenance(
        self, kernel: str, stack: _Stack, required: bool = True, parameters: tuple[str, ...] = ()
    ) -> int:
        """Return the index of what the compiler says of a kernel that its code launched."""
        if stack.generated is not None:
            file, line, _ = stack.generated
            found = self.context.provenance_of(file, line, kernel)
            if found is not None:
                return self.compiled.place(
                    (kernel, file, line), partial(self._compiled, kernel, found, parameters)
                )
        if not required:
            return -1
        return self.compiled.place((kernel,), lambda: Compiled(kernel, parameters=parameters))

    def _compiled(self, kernel: str, found: Provenance, parameters: tuple[str, ...]) -> Compiled:
        stacks = tuple(at for item in found.stacks if (at := self.stack_of(item)) >= 0)
        places = [self.context.module_of(identity) for identity in found.identities]
        paths = tuple(
            self.context.modules[at].path if at >= 0 else path
            for at, path in zip(places, found.modules, strict=True)
        )
        # The next kernel is added at the end of the table.
        self._inner[len(self.compiled)] = around(self.context.modules, places)
        return Compiled(kernel, found.operators, paths, stacks, parameters)

    def row(self, row: Row) -> Columns:
        """Return the columns of the nodes of a row."""
        stack = self.stack(row.stack)
        module, operator, compiled, forward = row.module, -1, -1, -1
        if stack.is_optimizer:
            phase = _OPTIMIZER
        elif row.node_number >= 0:
            phase = _BACKWARD
            self.went_backward = True
        else:
            # What runs outside of modules after a backward may be clipping or logging.
            phase = 0 if self.went_backward and module < 0 else _FORWARD
        if row.node_number >= 0:
            made = self.context.forward_of(row.node_number, row.node)
            if made is not None:
                forward = self.stack(made.stack).shown
                if module < 0:
                    module = made.module
        if row.what >= 0:
            operator, name = self.operator(row.what)
            if stack.generated is not None:
                compiled = self.provenance(name, stack, required=False)
        elif row.what <= FIRST_LAUNCH:
            compiled = self.launch(self.log.launches[FIRST_LAUNCH - row.what], stack)
        if compiled >= 0:
            inner = self._inner.get(compiled, -1)
            module = inner if inner >= 0 else module
        return Columns(
            stack.shown,
            operator,
            self.module(module),
            phase,
            self.name(row.node),
            forward,
            self.stream(row.stream),
            self.thread(row.thread),
            self.name(row.label),
            compiled,
        )

    def between(
        self, first: Row | None, second: Row | None, known: Callable[[Row], Columns]
    ) -> Columns:
        """Return the columns of what was launched between two rows, by no operator."""
        rows = [row for row in (first, second) if row is not None]
        if not rows:
            return Columns()
        if len(rows) == 1:
            return Columns(stack=self.stack(rows[0].stack).shown)
        stack = self.stack_of(common(*(self.context.stacks.places(row.stack) for row in rows)))
        one, other = (known(row)._asdict() for row in rows)
        shared = ("module", "phase", "stream", "thread", "label", "autograd", "forward")
        return Columns(stack, **{name: one[name] for name in shared if one[name] == other[name]})


def around(modules: Sequence[Known], places: Sequence[int]) -> int:
    """Return the innermost module that holds all modules of some places; -1 for none."""
    if not places or min(places) < 0:
        return -1
    chains = [list(_chain(modules, place)) for place in places]
    return next((at for at in chains[0] if all(at in chain for chain in chains)), -1)


def _chain(modules: Sequence[Known], place: int) -> Iterator[int]:
    while place >= 0:
        yield place
        place = modules[place].parent


def _known(index: int) -> tuple[int, ...]:
    return (index,) if index >= 0 else ()


def _is_optimizer(file: str) -> bool:
    file = file.replace("\\", "/")
    return _OPTIMIZERS in file and not file.endswith(_NO_OPTIMIZERS)


def common(first: Sequence[Place], second: Sequence[Place]) -> list[Place]:
    """Return the callers that two stacks share, innermost first.

    The innermost function that both were in has the line of the first.

    Examples
    --------
    >>> main = ("a.py", 9, "main")
    >>> common([("a.py", 3, "f"), main], [("a.py", 5, "f"), main])
    [('a.py', 3, 'f'), ('a.py', 9, 'main')]
    """
    shared: list[Place] = []
    for one, other in zip(reversed(first), reversed(second), strict=False):
        if one == other:
            shared.append(one)
            continue
        if (one[0], one[2]) == (other[0], other[2]):
            shared.append(one)
        break
    return shared[::-1]
