"""A log becomes :class:`~capture.origins.Origins`: indices into small tables, one row a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from ...origins import NODE_COLUMNS, PHASES, Compiled, Frame, Module, Operator, Origins
from .calls import operator_of
from .context import Context, Provenance
from .fill import fill
from .log import FIRST_LAUNCH, Launch, Log, Row
from .modules import Known
from .stacks import Place, Places, kind_of

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


class _Builder:
    def __init__(self, log: Log, context: Context) -> None:
        self.log = log
        self.context = context
        self.frames: _Table[Frame] = _Table()
        self.stacks: _Table[tuple[int, ...]] = _Table()
        self.operators: _Table[Operator] = _Table()
        self.modules: _Table[Module] = _Table()
        self.names: _Table[str] = _Table()
        self.compiled: _Table[Compiled] = _Table()
        self.went_backward = False
        self._inner: dict[int, int] = {}
        """By compiled kernel: the innermost module around its operators."""
        self._of_stack: dict[int, int] = {}
        self._kinds: dict[str, str] = {}
        self._optimizer: dict[int, bool] = {}

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

    def stack(self, index: int) -> int:
        """Return the index here of a stack of the process."""
        found = self._of_stack.get(index)
        if found is None:
            places = self.context.stacks.places(index)
            found = self._of_stack[index] = self.stack_of(places)
            self._optimizer[index] = any(_is_optimizer(place[0]) for place in places)
        return found

    def name(self, text: str) -> int:
        return self.names.place(text, lambda: text) if text else -1

    def module(self, index: int) -> int:
        """Return the index here of a module of the process, parents first."""
        if index < 0:
            return -1
        known = self.context.modules[index]
        return self.modules.place(
            index,
            lambda: Module(
                known.path,
                known.class_name,
                self.module(known.parent),
                known.file,
                known.line,
            ),
        )

    def operator(self, call: int) -> int:
        if call < 0:
            return -1
        return self.operators.place(call, lambda: operator_of(*self.log.calls[call]))

    def launch(self, launch: Launch, stack: Places) -> int:
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
        self, kernel: str, stack: Places, required: bool = True, parameters: tuple[str, ...] = ()
    ) -> int:
        """Return the index of what the compiler says of a kernel that its code launched."""
        for file, line, _ in stack:
            if self.kind(file) != "generated":
                continue
            found = self.context.provenance_of(file, line, kernel)
            if found is not None:
                return self.compiled.place(
                    (kernel, file, line), partial(self._compiled, kernel, found, parameters)
                )
            break
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

    def row(self, row: Row) -> dict[str, int]:
        """Return the columns of the nodes of a row."""
        stack = self.stack(row.stack)
        places = self.context.stacks.places(row.stack)
        found = dict.fromkeys(NODE_COLUMNS, -1)
        module = row.module
        if self._optimizer.get(row.stack):
            phase = _OPTIMIZER
        elif row.node_number >= 0:
            phase = _BACKWARD
            self.went_backward = True
        else:
            # What runs outside of modules after a backward may be clipping or logging.
            phase = 0 if self.went_backward and module < 0 else _FORWARD
        if row.node_number >= 0:
            forward = self.context.forward_of(row.node_number, row.node)
            if forward is not None:
                found["forward"] = self.stack(forward.stack)
                if module < 0:
                    module = forward.module
        if row.what >= 0:
            found["operator"] = self.operator(row.what)
            operator = str(self.log.calls[row.what][0])
            found["compiled"] = self.provenance(operator, places, required=False)
        elif row.what <= FIRST_LAUNCH:
            launch = self.log.launches[FIRST_LAUNCH - row.what]
            found["compiled"] = self.launch(launch, places)
        inner = self._inner.get(found["compiled"], -1)
        module = inner if inner >= 0 else module
        found |= {
            "stack": stack,
            "module": self.module(module),
            "phase": phase,
            "autograd": self.name(row.node),
            "stream": self.name(f"{row.stream:#x}"),
            "thread": self.name(self.context.threads.get(row.thread, f"thread {row.thread}")),
            "label": self.name(row.label),
        }
        return found

    def between(
        self, first: Row | None, second: Row | None, known: Callable[[Row], dict[str, int]]
    ) -> dict[str, int]:
        """Return the columns of what was launched between two rows, by no operator."""
        found = dict.fromkeys(NODE_COLUMNS, -1)
        rows = [row for row in (first, second) if row is not None]
        if not rows:
            return found
        if len(rows) == 1:
            found["stack"] = self.stack(rows[0].stack)
        else:
            found["stack"] = self.stack_of(
                common(*(self.context.stacks.places(row.stack) for row in rows))
            )
            both = [known(row) for row in rows]
            for name in ("module", "phase", "stream", "thread", "label", "autograd", "forward"):
                if both[0][name] == both[1][name]:
                    found[name] = both[0][name]
        return found


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


def build(key: str, log: Log, handles: Sequence[int], context: Context) -> Origins:
    """Make the tables of a graph.

    Parameters
    ----------
    key : str
        Of the graph.
    log : Log
    handles : sequence of int
        Of the nodes of the outermost level, in creation order.
    context : Context

    Returns
    -------
    Origins
        A column in which nothing is known is empty.
    """
    rows = list(log)
    owners = fill(handles, rows)
    builder = _Builder(log, context)
    done: dict[int, dict[str, int]] = {}

    def of(number: int) -> dict[str, int]:
        found = done.get(number)
        if found is None:
            found = done[number] = builder.row(rows[number])
        return found

    numbers = {id(row): number for number, row in enumerate(rows)}
    columns: dict[str, list[int]] = {name: [] for name in NODE_COLUMNS}
    outside: dict[tuple[int, int], dict[str, int]] = {}
    for position, number in enumerate(owners.rows):
        if number >= 0:
            values = of(number)
        else:
            pair = owners.between[position]
            if pair not in outside:
                first, second = (rows[at] if at >= 0 else None for at in pair)
                outside[pair] = builder.between(first, second, lambda row: of(numbers[id(row)]))
            values = outside[pair]
        for name in NODE_COLUMNS:
            columns[name].append(values[name])
    origins = Origins(
        graph=key,
        frames=list(builder.frames),
        stacks=list(builder.stacks),
        operators=list(builder.operators),
        modules=list(builder.modules),
        names=list(builder.names),
        compiled_kernels=list(builder.compiled),
    )
    for name, values_of in columns.items():
        if any(value >= 0 for value in values_of):
            setattr(origins, name, values_of)
    if owners.between:
        origins.missing["operator"] = (
            f"{len(owners.between)} nodes were not launched by an operator of torch's; their "
            f"stack is what the operators before and after have in common"
        )
    return origins
