"""What is known about where a graph or a node comes from, as facts."""

from __future__ import annotations

from dataclasses import dataclass, field

from capture.origin_index import Line, OriginIndex
from capture.origins import Compiled, Frame, Operator

from . import format as text
from .facts import Fact, Section
from .origin_text import PHASE_NAMES


@dataclass(frozen=True)
class NodeOrigin:
    """Everything that is known of one node's origin.

    Attributes
    ----------
    lines : list of Line
        It is charged to these; see :class:`~capture.origin_index.Charge`.
    as_backward : bool
        Whether they are lines of its forward operator.
    stack, forward : list of Frame
        Innermost first.
    modules : list of int
        Innermost modules, as indices into :attr:`OriginIndex.modules`.
    operator : Operator or None
    number : int
        Of the operator in its table; -1 for none.
    compiled : Compiled or None
    phase, autograd, stream, thread, label : str
        Empty where not known.
    missing : dict of str to str
        What is not known, and why.
    """

    lines: list[Line]
    as_backward: bool
    stack: list[Frame]
    forward: list[Frame]
    modules: list[int]
    operator: Operator | None
    number: int
    compiled: Compiled | None
    phase: str
    autograd: str
    stream: str
    thread: str
    label: str
    missing: dict[str, str] = field(default_factory=dict)


def coverage(index: OriginIndex) -> Section:
    """Return of how many nodes of a graph line, operator and module are known, and why not of all.

    Nodes of bodies count with the node that holds them.
    """
    how = "; ".join(index.origins.how)
    known = {
        "source line": sum(1 for charge in index.charges if charge.lines),
        "operator": sum(1 for operators in index.node_operators if operators),
        "module": sum(1 for modules in index.node_modules if modules),
    }
    facts = [
        Fact(
            name,
            f"{text.count_text(count)} ({text.share_text(count, index.count)})"
            if index.count
            else text.ABSENT,
            f"{count:,} of {index.count:,} nodes",
            how,
        )
        for name, count in known.items()
    ]
    phases = index.column("phase")
    for phase in range(1, len(PHASE_NAMES)):
        count = phases.count(phase)
        if count:
            facts.append(Fact(PHASE_NAMES[phase], text.counted(count, "node"), "", how))
    facts += [Fact("", f"{name}: {why}", "", how) for name, why in index.origins.missing.items()]
    return Section("Origins", facts, source=how)


def node_origin(index: OriginIndex, position: int) -> NodeOrigin:
    """Return where a node comes from."""
    origins = index.origins
    charge = index.charges[position]
    compiled = index.column("compiled")[position]
    operator = index.column("operator")[position]
    phase = index.column("phase")[position]
    return NodeOrigin(
        lines=[index.lines[at] for at in charge.lines],
        as_backward=charge.as_backward,
        stack=frames(index, index.column("stack")[position]),
        forward=frames(index, index.column("forward")[position]),
        modules=list(index.node_modules[position]),
        operator=origins.operators[operator] if operator >= 0 else None,
        number=operator,
        compiled=origins.compiled_kernels[compiled] if compiled >= 0 else None,
        phase=PHASE_NAMES[phase] if phase > 0 else "",
        autograd=index.name("autograd", position),
        stream=index.name("stream", position),
        thread=index.name("thread", position),
        label=index.name("label", position),
        missing=dict(origins.missing),
    )


def frames(index: OriginIndex, stack: int) -> list[Frame]:
    """Return the frames of a stack, innermost first; none for a stack that is not there."""
    origins = index.origins
    if not 0 <= stack < len(origins.stacks):
        return []
    known = len(origins.frames)
    return [origins.frames[at] for at in origins.stacks[stack] if 0 <= at < known]


@dataclass(frozen=True)
class Folded:
    """Frames of a stack in a row that are shown as one: those of a library."""

    frames: list[Frame]

    @property
    def is_library(self) -> bool:
        """Whether they are a library's, which nobody reads first."""
        return self.frames[0].kind == "library"


def folded(stack: list[Frame]) -> list[Folded]:
    """Return a stack with each run of library frames as one entry.

    Examples
    --------
    >>> user, torch = Frame("train.py", 3, "step"), Frame("torch/f.py", 9, "linear", "library")
    >>> [len(part.frames) for part in folded([torch, torch, user])]
    [2, 1]
    """
    found: list[Folded] = []
    for frame in stack:
        if frame.kind == "library" and found and found[-1].is_library:
            found[-1].frames.append(frame)
        else:
            found.append(Folded([frame]))
    return found
