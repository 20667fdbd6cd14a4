"""What the numbers of a log stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from .modules import Known
from .stacks import Place, Stacks


class ForwardLike(Protocol):
    """What is remembered of the operator that made an autograd node."""

    @property
    def name(self) -> str:
        """Of the operator."""

    @property
    def stack(self) -> int:
        """Index into the stacks of the process."""

    @property
    def module(self) -> int:
        """Index into the modules of the process; -1 for none."""


class Provenance(NamedTuple):
    """What a compiler says of one of its kernels, or of a line that it wrote.

    Attributes
    ----------
    operators : tuple of str
    modules : tuple of str
        Paths as the compiler gives them.
    identities : tuple of int
        Of the same modules; 0 where it is not known.
    stacks : tuple of (tuple of Place)
        Places in the user's code, innermost first.
    """

    operators: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    identities: tuple[int, ...] = ()
    stacks: tuple[tuple[Place, ...], ...] = ()


class Context(NamedTuple):
    """What a log's numbers stand for.

    Attributes
    ----------
    stacks : Stacks
    modules : sequence of Known
    module_of : callable
        ``module_of(identity)`` returns the index of a module that is alive; -1 for none.
    forward_of : callable
        ``forward_of(number, name)`` returns what is known of the forward of an autograd node.
    provenance_of : callable
        ``provenance_of(file, line, kernel)`` returns what the compiler that wrote a line says.
    threads : dict of int to str
        Names of threads.
    """

    stacks: Stacks
    modules: Sequence[Known]
    module_of: Callable[[int], int]
    forward_of: Callable[[int, str], ForwardLike | None]
    provenance_of: Callable[[str, int, str], Provenance | None]
    threads: Mapping[int, str]
