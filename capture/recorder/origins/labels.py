"""Names that the user gives to what is running, a stack of them in each thread."""

from __future__ import annotations

from threading import get_ident

_stacks: dict[int, list[str]] = {}


def stack() -> list[str]:
    """Return this thread's labels, outermost first; the list is live."""
    return stack_of(get_ident())


def stack_of(thread: int) -> list[str]:
    """Return a thread's labels; the list is live."""
    found = _stacks.get(thread)
    if found is None:
        found = _stacks[thread] = []
    return found


class label:  # noqa: N801 - used as a function, like torch.profiler.record_function
    """Name the nodes that are captured inside a ``with`` block.

    Around a capture it names the graph.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> with label("decoder"):  # doctest: +SKIP
    ...     y = decoder(x)
    """

    def __init__(self, name: str) -> None:
        self.name = str(name)

    def __enter__(self) -> label:
        stack().append(self.name)
        return self

    def __exit__(self, *_: object) -> None:
        names = stack()
        if self.name in names:
            # From the end: blocks may be left in another order than they were entered in.
            del names[len(names) - 1 - names[::-1].index(self.name)]
