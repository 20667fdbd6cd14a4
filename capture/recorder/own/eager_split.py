"""Where the CPU time of an eager call goes, from a profiler's events. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_RUNTIME, _DRIVER = re.compile(r"^cuda[A-Z]"), re.compile(r"^cu[A-Z]")

Span = tuple[int, int]


class ProfiledEvent(NamedTuple):
    """One event of a profile.

    Attributes
    ----------
    name : str
    start_ns, end_ns : int
    device : bool
        It ran on the device.
    annotation : bool
        A range that somebody marked, such as ``record_function``: no work by itself.
    """

    name: str
    start_ns: int
    end_ns: int
    device: bool = False
    annotation: bool = False


class Split(NamedTuple):
    """What :func:`split` returns; see :class:`~capture.benchmarks.Eager`."""

    share: dict[str, float]
    wall_ns: int
    busy_ns: int
    launches: int
    calls: dict[str, list[int]]


def split(events: Sequence[ProfiledEvent], start_ns: int, end_ns: int) -> Split:
    """Split a call's CPU time.

    Parameters
    ----------
    events : sequence of ProfiledEvent
        Of all threads: while ``backward()`` runs operators on another, this one waits for it.
    start_ns, end_ns : int
        Begin and return of the call, on the events' clock.

    Returns
    -------
    Split
        Python is time outside of any operator and call; dispatch is time in operators outside of
        calls into the runtime and the driver; runtime is time in its calls outside of the driver's.

    Raises
    ------
    ValueError
        The call took no time.
    """
    wall = end_ns - start_ns
    if wall <= 0:
        raise ValueError(f"a call from {start_ns} to {end_ns} ns took no time")
    host = [event for event in events if not event.device and not event.annotation]
    kinds = [kind_of(event.name) for event in host]
    spans: dict[str, list[Span]] = {"operator": [], "runtime": [], "driver": []}
    calls: dict[str, list[int]] = {}
    for event, kind in zip(host, kinds, strict=True):
        begin, end = max(event.start_ns, start_ns), min(event.end_ns, end_ns)
        if begin >= end:
            continue
        spans[kind].append((begin, end))
        if kind != "operator":
            row = calls.setdefault(event.name, [0, 0])
            row[0] += 1
            row[1] += end - begin
    driver = covered(spans["driver"])
    runtime = covered([*spans["runtime"], *spans["driver"]])
    operators = covered([span for group in spans.values() for span in group])
    parts = (wall - operators, operators - runtime, runtime - driver, driver)
    device = [event for event in events if event.device and not event.annotation]
    return Split(
        share={
            name: part / wall
            for name, part in zip(("python", "dispatch", "runtime", "driver"), parts, strict=True)
        },
        wall_ns=wall,
        busy_ns=covered([(event.start_ns, event.end_ns) for event in device]),
        launches=len(device),
        calls=dict(sorted(calls.items(), key=lambda item: -item[1][1])),
    )


def kind_of(name: str) -> str:
    """Say whether a host event is an operator or a call of the runtime or the driver.

    Examples
    --------
    >>> [kind_of(name) for name in ("aten::mm", "cudaLaunchKernel", "cuLaunchKernelEx")]
    ['operator', 'runtime', 'driver']
    """
    if _RUNTIME.match(name):
        return "runtime"
    return "driver" if _DRIVER.match(name) else "operator"


def covered(spans: Iterable[Span]) -> int:
    """Return the length of what spans cover together.

    Examples
    --------
    >>> covered([(0, 10), (5, 12), (20, 21)])
    13
    """
    total, until = 0, None
    for begin, end in sorted(spans):
        if until is None or begin > until:
            total += end - begin
            until = end
        elif end > until:
            total += end - until
            until = end
    return total
