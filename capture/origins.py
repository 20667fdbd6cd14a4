"""Where every node of one graph comes from: evidence that hangs beside it.

One row per node of the outermost level, in creation order; nodes of bodies share the row of the
node that holds them. Columns hold indices into the tables beside them, -1 where nothing is known.
"""

from __future__ import annotations

from typing import Any

import msgspec

NODE_COLUMNS = (
    "stack",
    "operator",
    "module",
    "phase",
    "autograd",
    "forward",
    "stream",
    "thread",
    "label",
    "compiled",
)
"""Fields of :class:`Origins` that have one value per node."""

PHASES = ("", "forward", "backward", "optimizer")
"""What the values of the column `phase` mean."""


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """One line of Python that was running."""

    file: str
    line: int
    function: str
    kind: str = "user"
    """``"user"``, ``"library"`` (installed, or part of Python) or ``"generated"``."""


class TensorLike(msgspec.Struct, frozen=True, array_like=True):
    """What an operator was given, as far as it is a tensor."""

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...] = ()


class Operator(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call of an operator."""

    name: str
    """As torch names it, such as ``"aten.addmm.default"``."""
    inputs: tuple[TensorLike, ...] = ()
    scalars: tuple[str, ...] = ()
    """Other arguments as text, each at most 80 characters."""


class Module(msgspec.Struct, frozen=True, omit_defaults=True):
    """An ``nn.Module`` whose forward was running."""

    path: str
    """As ``named_modules`` of the outermost module gives it; empty for that module itself."""
    class_name: str
    parent: int = -1
    """Index into the modules' table."""
    file: str = ""
    line: int = 0


class Compiled(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a compiler fused into a kernel, from its own provenance."""

    kernel: str
    operators: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    stacks: tuple[int, ...] = ()
    """Indices into the table of stacks: the user's lines."""
    parameters: tuple[str, ...] = ()
    """Names of a Triton kernel's parameters, those that are constants left out."""


class Origins(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Source line, operator, module and more of every node of a graph.

    Attributes
    ----------
    graph : str
        Key of the graph.
    how : list of str
        What they were made of, such as ``"operators: dispatch mode"``.
    frames : list of Frame
    stacks : list of tuple of int
        Frames of each stack, innermost first.
    operators : list of Operator
    modules : list of Module
        Parents come before their children.
    names : list of str
        Names of autograd nodes, streams, threads and labels.
    compiled_kernels : list of Compiled
    stack : list of int
        The Python stack that launched the node. On autograd's threads it is what runs there of
        Python, and below that the stack of the thread that waits for the backward.
    operator : list of int
        -1 for kernels that something else launches, such as Triton's, which `compiled` names.
    module : list of int
        Of backward nodes, the module whose forward made the autograd node; of a compiled kernel,
        the innermost one around all that was fused into it. -1 outside of modules.
    phase : list of int
        Index into :data:`PHASES`.
    autograd : list of int
        Name of the autograd node that was running.
    forward : list of int
        Of backward nodes, the stack of the forward operator they belong to.
    stream, thread, label : list of int
        Names; a label is the innermost of `record_function`, NVTX and `capture.label`.
    compiled : list of int
        Index into `compiled_kernels`.
    sources : dict of str to str
        Text of source files, stored on request only.
    missing : dict of str to str
        Columns that are not known, and why.
    """

    graph: str
    how: list[str] = msgspec.field(default_factory=list)
    frames: list[Frame] = msgspec.field(default_factory=list)
    stacks: list[tuple[int, ...]] = msgspec.field(default_factory=list)
    operators: list[Operator] = msgspec.field(default_factory=list)
    modules: list[Module] = msgspec.field(default_factory=list)
    names: list[str] = msgspec.field(default_factory=list)
    compiled_kernels: list[Compiled] = msgspec.field(default_factory=list)
    stack: list[int] = msgspec.field(default_factory=list)
    operator: list[int] = msgspec.field(default_factory=list)
    module: list[int] = msgspec.field(default_factory=list)
    phase: list[int] = msgspec.field(default_factory=list)
    autograd: list[int] = msgspec.field(default_factory=list)
    forward: list[int] = msgspec.field(default_factory=list)
    stream: list[int] = msgspec.field(default_factory=list)
    thread: list[int] = msgspec.field(default_factory=list)
    label: list[int] = msgspec.field(default_factory=list)
    compiled: list[int] = msgspec.field(default_factory=list)
    sources: dict[str, str] = msgspec.field(default_factory=dict)
    missing: dict[str, str] = msgspec.field(default_factory=dict)
    extra: dict[str, Any] = msgspec.field(default_factory=dict)
