"""What is remembered of one capture while operators are watched, and of each thread in it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

from ...driver.protocol import Driver
from ...driver.records import Tip
from ..left_out import Omissions
from . import labels
from .log import Log
from .stacks import Base

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
_LABELS = {"_record_function_enter_new": 1, "_record_function_exit": 2}
MAX_FORWARDS = 50_000
"""Autograd nodes whose forward is remembered for a backward in another graph."""
MOST_NODES_A_CALL = 64
MOST_OF_ONE_NUMBER = 6
"""Threads number their autograd nodes each for itself."""


class Thread:
    """What is remembered of one thread while it works for a capture.

    Attributes
    ----------
    number : int
        The number that its next autograd node would have had when it last was looked at.
    last_stack, last_module : int
        Where an operator that is passed over was called, if what was seen last has called it.
    """

    __slots__ = (
        "driver", "ident", "kept_labels", "labels", "last_module", "last_stack", "number", "tips",
    )  # fmt: skip

    def __init__(self, driver: Driver, ident: int, number: int) -> None:
        self.driver = driver
        self.ident = ident
        self.labels = labels.stack_of(ident)
        self.kept_labels = len(self.labels)
        self.number = number
        self.last_stack = self.last_module = -1
        self.tips: dict[int, Callable[[], Tip]] = {}

    def tip(self, stream: int) -> Callable[[], Tip]:
        """Return what tells the last node on a stream, made when first asked for."""
        found = self.tips.get(stream)
        if found is None:
            found = self.tips[stream] = self.driver.capture_tip(stream)
        return found


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


class Slot:
    """An operator by its name, and what is known of it once it was called.

    Parameters
    ----------
    name, overload : str
        As the dispatcher has them, such as ``"aten::add"`` and ``"Tensor"``.

    Attributes
    ----------
    label : int
    launches : bool
        As in :class:`Operator`.
    """

    __slots__ = ("about", "label", "launches", "name", "overload")

    def __init__(self, name: str, overload: str) -> None:
        self.name = name
        self.overload = overload
        self.about: Operator | None = None
        self.label = _LABELS.get(name.partition("::")[2], 0)
        # As str(OpOverload) has it.
        text = f"{name.replace('::', '.')}.{overload or 'default'}"
        self.launches = text not in LAUNCHING_NOTHING and not self.label


class Watched:
    """One capture that is being watched.

    Parameters
    ----------
    capture_id : int
        As CUDA gives it.
    base : Base
    thread : int
        That began it.

    Attributes
    ----------
    problem : str
        The first thing that failed; empty while all is well.
    broke : tuple or None
        (operator, stack, thread, stream) of the first operator after which the capture was no
        longer valid.
    latest : tuple or None
        (operator, stream, thread) of what began last.
    latest_order : int
        How many operators had been seen by then, where that is counted elsewhere.
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
        self.outside = ""
        """The first operator that CUDA refused on a stream which is not part of the capture."""
        self.latest: tuple[str, int, int] | None = None
        self.latest_order = -1
        self.held: Any = None
        """What an observer in C++ has of it."""
        self.seen = 0
        self.sampled_ns = 0
        self.sampled = 0
        self.fixed_ns = 0

    @property
    def cost_ns(self) -> int:
        """What watching cost, from the operators that were timed."""
        a_call = self.sampled_ns / self.sampled if self.sampled else 0
        return int(a_call * self.seen) + self.fixed_ns

    def failed(self, error: BaseException) -> None:
        """Note that our own work failed; the operator is not the poorer for it."""
        self.problem = self.problem or f"{type(error).__name__}: {error}"


class Forward(NamedTuple):
    """The forward of an autograd node.

    Attributes
    ----------
    name : str
        Of the operator.
    stack, module : int
        Indices into the stacks and the modules of the process.
    """

    name: str
    stack: int
    module: int


class Forwards:
    """Forwards of autograd nodes by their numbers, the newest ones of the process."""

    def __init__(self) -> None:
        self._found: dict[int, list[Forward]] = {}

    def remember(self, first: int, end: int, forward: Forward) -> None:
        """Keep the forward of the autograd nodes with numbers from `first` until before `end`."""
        found = self._found
        for number in range(max(first, end - MOST_NODES_A_CALL), end):
            same = found.get(number)
            if same is None:
                found[number] = [forward]
            else:
                same.append(forward)
                if len(same) > MOST_OF_ONE_NUMBER:
                    del same[0]
        if len(found) > MAX_FORWARDS:
            for old in list(islice(found, MAX_FORWARDS // 2)):
                del found[old]

    def of(self, number: int, name: str) -> Forward | None:
        """Return the forward of an autograd node.

        Of equal numbers it is the one whose operator is named like the node, else the newest.

        Examples
        --------
        >>> forwards = Forwards()
        >>> forwards.remember(3, 4, Forward("aten.mm.default", 0, 0))
        >>> forwards.remember(3, 4, Forward("aten.relu.default", 1, 0))
        >>> forwards.of(3, "MmBackward0").stack
        0
        """
        found = self._found.get(number)
        if not found:
            return None
        wanted = _plain(name.partition("Backward")[0])
        alike = [item for item in found if wanted == _plain("".join(item.name.split(".")[1:2]))]
        return (alike or found)[-1]


def _plain(name: str) -> str:
    """Return a name of an operator as autograd and the dispatcher have it in common."""
    return name.replace("_", "").lower()
