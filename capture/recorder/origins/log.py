"""What is noted while a graph is captured: one row per operator or launch that made nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...driver.records import Tip

FIRST_LAUNCH = -2


class Row(NamedTuple):
    """What made nodes, or a node of autograd's.

    Attributes
    ----------
    what : int
        Index into :attr:`Log.calls`, -1 where no node was made, or :data:`FIRST_LAUNCH` minus an
        index into :attr:`Log.launches`.
    before, after : Tip
        The capture's last node on the stream.
    stream : int
        Handle of the current stream.
    thread : int
        As ``threading.get_ident`` gives it.
    stack : int
        Index into the stacks of the process.
    module : int
        Index into the modules of the process.
    label : str
    node : str
        Name of the autograd node that was running.
    node_number : int
        Its sequence number.
    number : int
        The number that the thread's next autograd node will have.
    opened : int
        Length of :attr:`Log.flat` when it began: rows after that ran inside it.
    """

    what: int
    before: Tip
    after: Tip
    stream: int
    thread: int
    stack: int
    module: int
    label: str
    node: str
    node_number: int
    number: int
    opened: int


WIDTH = len(Row._fields)
_OPENED = Row._fields.index("opened")


class Launch(NamedTuple):
    """A kernel that was launched outside of torch's operators."""

    name: str
    compiler: str
    """``"triton"`` for the user's own kernels, ``"inductor"`` for those that torch wrote."""
    file: str = ""
    line: int = 0
    function: str = ""
    parameters: tuple[str, ...] = ()
    """Names of those that are no constants."""


class Log:
    """Rows, flat: a row of its own would be one more object for the garbage collector to count.

    A collection in the middle of a capture may destroy what the script has dropped, and what is
    noted shall not cause more of them.
    """

    def __init__(self) -> None:
        self.flat: list[Any] = []
        self.at_us: list[int] | None = None
        """Unix time at which each row was written; a list where that is to be noted."""
        self.calls: list[tuple[Any, Any]] = []
        """Operator and arguments of each distinct call."""
        self.launches: list[Launch] = []
        self.call_index: dict[Any, int] = {}
        self.launch_index: dict[Launch, int] = {}

    def __len__(self) -> int:
        return len(self.flat) // WIDTH

    def launch(self, launch: Launch) -> int:
        """Return the index of a launch, which is added when it is new."""
        at = self.launch_index.setdefault(launch, len(self.launches))
        if at == len(self.launches):
            self.launches.append(launch)
        return at

    def extend(self, flat: list[Any]) -> None:
        """Append rows whose `opened` counts rows, as those of others do."""
        flat[_OPENED::WIDTH] = [rows * WIDTH for rows in flat[_OPENED::WIDTH]]
        self.flat += flat

    def __iter__(self) -> Iterator[Row]:
        flat = self.flat
        for start in range(0, len(flat), WIDTH):
            yield Row._make(flat[start : start + WIDTH])

    def last(self) -> Row | None:
        """Return the last row."""
        return Row._make(self.flat[-WIDTH:]) if self.flat else None
