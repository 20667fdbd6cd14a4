"""What the origins of a graph say of each position of one of its levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from .origins import NODE_COLUMNS, PHASES, Module, Origins

NO_ORIGINS = (
    "where the nodes of this graph come from was not recorded: record the script with "
    "`cglens record`, which keeps stacks, modules and operators"
)
FORWARD, BACKWARD, OPTIMIZER = (PHASES.index(name) for name in PHASES[1:])


class Line(NamedTuple):
    """A line of source, called by its innermost frame."""

    file: str
    line: int
    function: str
    kind: str


class Charge(NamedTuple):
    """Which lines a node is charged to.

    Attributes
    ----------
    lines : tuple of int
        Indices into :attr:`OriginIndex.lines`: the innermost line of the user, or the innermost of
        each stack that a compiler names, each once. Each is charged in full.
    stacks : tuple of int
        Those that these lines are in, and that of the launch.
    as_backward : bool
        Whether the lines are those of the forward operator that the node belongs to, and did not
        launch the node themselves.
    """

    lines: tuple[int, ...] = ()
    stacks: tuple[int, ...] = ()
    as_backward: bool = False


NOTHING = Charge()


class OriginIndex:
    """Origins joined to the positions of a graph, or of one of its bodies.

    Parameters
    ----------
    origins : Origins
    count : int
        Nodes of the level.
    path : str
        Of the body, such as ``"3/0"``. Its nodes have the origin of the outermost node around them.

    Notes
    -----
    Everything is computed when first asked for and kept; O(nodes) each, with one step per distinct
    stack, frame or operator. An index that points outside its table counts as not known.
    """

    def __init__(self, origins: Origins, count: int, path: str = "") -> None:
        self.origins = origins
        self.count = count
        self.path = path
        self._columns: dict[str, list[int]] = {}

    def column(self, name: str) -> list[int]:
        """Return one of :data:`~capture.origins.NODE_COLUMNS` by position; -1 for not known."""
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = self._read(name)
        return found

    def _read(self, name: str) -> list[int]:
        if name not in NODE_COLUMNS:
            raise KeyError(name)
        values: Sequence[int] = getattr(self.origins, name)
        size = len(self._table(name))
        if self.path:
            head = self.path.partition("/")[0]
            row = int(head) if head.isdecimal() else -1
            value = values[row] if 0 <= row < len(values) else -1
            return [value if 0 <= value < size else -1] * self.count
        rows = list(values[: self.count])
        if rows and not -1 <= min(rows) <= max(rows) < size:
            rows = [value if 0 <= value < size else -1 for value in rows]
        return rows + [-1] * (self.count - len(rows))

    def _table(self, name: str) -> Sequence[object]:
        origins = self.origins
        tables: dict[str, Sequence[object]] = {
            "stack": origins.stacks,
            "forward": origins.stacks,
            "operator": origins.operators,
            "module": origins.modules,
            "phase": PHASES,
            "compiled": origins.compiled_kernels,
        }
        return tables.get(name, origins.names)

    def name(self, column: str, position: int) -> str:
        """Return the autograd node, stream, thread or label of a node; empty when not known."""
        at = self.column(column)[position]
        return self.origins.names[at] if at >= 0 else ""

    @cached_property
    def _line_of_frame(self) -> tuple[list[int], list[Line]]:
        places: dict[tuple[str, int], int] = {}
        lines: list[Line] = []
        found: list[int] = []
        for frame in self.origins.frames:
            key = (frame.file, frame.line)
            if key not in places:
                places[key] = len(lines)
                lines.append(Line(frame.file, frame.line, frame.function, frame.kind))
            found.append(places[key])
        return found, lines

    @property
    def lines(self) -> list[Line]:
        """Every line that is in any stack."""
        return self._line_of_frame[1]

    @cached_property
    def lines_of_stack(self) -> list[tuple[int, ...]]:
        """The user's lines in each stack, innermost first, each once.

        A stack without any has its innermost generated line instead, or nothing.
        """
        of_frame, lines = self._line_of_frame
        known = len(of_frame)
        found: list[tuple[int, ...]] = []
        for stack in self.origins.stacks:
            frames = [of_frame[frame] for frame in stack if 0 <= frame < known]
            chosen = [line for line in frames if lines[line].kind == "user"]
            if not chosen:
                chosen = [line for line in frames if lines[line].kind == "generated"][:1]
            found.append(tuple(dict.fromkeys(chosen)))
        return found

    def line_of(self, stack: int) -> int:
        """Return the innermost line of the user in a stack; -1 when there is none."""
        if not 0 <= stack < len(self.lines_of_stack):
            return -1
        lines = self.lines_of_stack[stack]
        return lines[0] if lines else -1

    @cached_property
    def charges(self) -> list[Charge]:
        """Which lines each node is charged to."""
        known: dict[tuple[int, int, int, int], Charge] = {}
        found: list[Charge] = []
        names = ("stack", "forward", "phase", "compiled")
        for key in zip(*map(self.column, names), strict=True):
            charge = known.get(key)
            if charge is None:
                charge = known[key] = self._charge(*key)
            found.append(charge)
        return found

    def _charge(self, stack: int, forward: int, phase: int, compiled: int) -> Charge:
        if compiled >= 0:
            stacks = self.origins.compiled_kernels[compiled].stacks
            lines = dict.fromkeys(line for item in stacks if (line := self.line_of(item)) >= 0)
            if lines:
                # Whoever launched it, or its forward, is around it all the same.
                known = [item for item in (*stacks, stack, forward) if self.line_of(item) >= 0]
                return Charge(tuple(lines), tuple(dict.fromkeys(known)), phase == BACKWARD)
        if forward >= 0 and phase not in (FORWARD, OPTIMIZER):
            line = self.line_of(forward)
            if line >= 0:
                return Charge((line,), (forward,), True)
        line = self.line_of(stack)
        return Charge((line,), (stack,)) if line >= 0 else NOTHING

    @cached_property
    def modules(self) -> list[Module]:
        """The modules of the origins, then those that only a compiler names.

        The parent of a module always comes before it; what a file says otherwise is dropped.
        """
        found = [
            module
            if -1 <= module.parent < at
            else Module(module.path, module.class_name, -1, module.file, module.line)
            for at, module in enumerate(self.origins.modules)
        ]
        places = {module.path: at for at, module in reversed(list(enumerate(found)))}
        for kernel in self.origins.compiled_kernels:
            for path in kernel.modules:
                if path not in places:
                    places[path] = len(found)
                    found.append(Module(path, "", _parent(path, places)))
        return found

    @cached_property
    def path_counts(self) -> Counter[str]:
        """How many modules have a path, in lower case: two models may have a part of one name."""
        return Counter(module.path.lower() for module in self.modules)

    @cached_property
    def node_modules(self) -> list[tuple[int, ...]]:
        """The innermost modules of each node, as indices into :attr:`modules`.

        Several for a kernel that a compiler fused.
        """
        places = {module.path: at for at, module in reversed(list(enumerate(self.modules)))}
        fused = [
            tuple(dict.fromkeys(places[path] for path in kernel.modules))
            for kernel in self.origins.compiled_kernels
        ]
        single = [(at,) for at in range(len(self.modules))]
        return [
            fused[kernel]
            if kernel >= 0 and fused[kernel]
            else single[module]
            if module >= 0
            else ()
            for module, kernel in zip(self.column("module"), self.column("compiled"), strict=True)
        ]

    @cached_property
    def ancestors(self) -> list[tuple[int, ...]]:
        """Of each module, itself and the modules around it, outermost first."""
        found: list[tuple[int, ...]] = []
        for at, module in enumerate(self.modules):
            above = found[module.parent] if module.parent >= 0 else ()
            found.append((*above, at))
        return found

    @cached_property
    def _names(self) -> tuple[list[str], list[int], list[tuple[int, ...]]]:
        places: dict[str, int] = {}
        single = [
            places.setdefault(operator.name, len(places)) for operator in self.origins.operators
        ]
        fused = [
            tuple(dict.fromkeys(places.setdefault(name, len(places)) for name in kernel.operators))
            for kernel in self.origins.compiled_kernels
        ]
        return list(places), single, fused

    @property
    def operator_names(self) -> list[str]:
        """Names of operators, each once."""
        return self._names[0]

    @cached_property
    def node_operators(self) -> list[tuple[int, ...]]:
        """The operators of each node, as indices into :attr:`operator_names`.

        Several for a kernel that a compiler fused; what it calls as an operator is that alone.
        """
        _, names, fused = self._names
        single = [(name,) for name in names]
        return [
            single[operator] if operator >= 0 else fused[kernel] if kernel >= 0 else ()
            for operator, kernel in zip(
                self.column("operator"), self.column("compiled"), strict=True
            )
        ]


def _parent(path: str, places: dict[str, int]) -> int:
    """Return the nearest module around a path; -1 for none."""
    while path:
        path = path.rpartition(".")[0]
        if path in places:
            return places[path]
    return -1


def origin_attributes(index: OriginIndex, position: int) -> dict[str, str]:
    """Return where a node comes from as texts by name, for files that hold plain attributes.

    What is not known is left out; several lines, modules or operators are joined by ``"; "``.
    """
    charge = index.charges[position]
    lines = [f"{line.file}:{line.line}" for line in map(index.lines.__getitem__, charge.lines)]
    modules = [index.modules[at] for at in index.node_modules[position]]
    phase = index.column("phase")[position]
    texts = {
        "origin_line": "; ".join(lines),
        "origin_module": "; ".join(module.path or module.class_name for module in modules),
        "origin_operator": "; ".join(
            index.operator_names[at] for at in index.node_operators[position]
        ),
        "origin_phase": PHASES[phase] if phase > 0 else "",
    }
    return {name: text for name, text in texts.items() if text}
