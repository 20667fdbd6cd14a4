"""Replays without some nodes: what would be gained if they were free."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median

from ...benchmarks import Benchmark, Removal
from ...errors import DriverError, GraphLensError
from ...measure_request import EACH
from ...selection import select
from ...timings import Timings
from .setup import Budget, Setup
from .stopwatch import HungError

DIED = "the process died in a replay without these nodes"
HOW = "taken out of a clone, whose other nodes wait for each other as before"
SHARE = 0.01
"""Nodes below this share of a replay are not removed one by one."""
MOST_SINGLE = 200
FEWEST_BATCHES = 2


def wanted(
    setup: Setup, key: str, removals: list[tuple[str, str]], shares: Mapping[int, float]
) -> list[Removal]:
    """Return what is to be removed from a graph, one entry for each measurement.

    Parameters
    ----------
    setup : Setup
    key : str
        Of the graph.
    removals : list of (str, str)
        As :class:`~capture.measure_request.MeasureRequest` has them.
    shares : mapping of int to float
        Of the replay, by position.
    """
    found: list[Removal] = []
    for graph, text in removals:
        if graph and graph != key:
            continue
        if text == EACH:
            found += _each(shares)
            continue
        removal = Removal(asked=text)
        try:
            removal.nodes = [str(position) for position in select(setup.graph, text)]
        except GraphLensError as error:
            removal.reason = str(error)
        found.append(removal)
    return found


def traced_shares(timings: Timings) -> dict[int, float]:
    """Return each node's share of the median makespan of the traced replays, by position."""
    if not timings.makespan_ns:
        return {}
    makespan_ns = median(timings.makespan_ns)
    found: dict[int, float] = {}
    for node, median_ns in zip(timings.node, timings.median_ns, strict=False):
        if node.isdecimal() and makespan_ns:
            position = int(node)
            found[position] = found.get(position, 0.0) + median_ns / makespan_ns
    return found


def _each(shares: Mapping[int, float]) -> list[Removal]:
    if not shares:
        return [Removal(asked=EACH, reason="no node's time is known: nothing was measured")]
    dear = [position for position, share in shares.items() if share >= SHARE]
    ranked = sorted(dear, key=lambda position: -shares[position])[:MOST_SINGLE]
    if not ranked:
        return [Removal(asked=EACH, reason="no node takes 1 % of a replay by itself")]
    # The dearest first: one of them may end all measurements.
    return [Removal(asked=f"node:{position}", nodes=[str(position)]) for position in ranked]


def measure(
    setup: Setup,
    benchmark: Benchmark,
    removals: list[Removal],
    replays: int,
    budget: Budget,
    write: Callable[[], None],
) -> None:
    """Measure removals one after another, each written before and after.

    Parameters
    ----------
    setup : Setup
    benchmark : Benchmark
        Gets the removals.
    removals : list of Removal
    replays : int
        Samples with and without, at most.
    budget : Budget
    write : callable
        Brings the benchmark to the journal. The process may die of a removal: what is written
        before it says so.

    Raises
    ------
    DriverError, HungError
        The device failed: nothing can be measured in this process any more.
    """
    pending = [removal for removal in removals if not removal.reason]
    benchmark.removals += [removal for removal in removals if removal.reason]
    if not pending:
        return
    whole = setup.ready()
    setup.restore(always=True)
    setup.pace(whole)
    for number, removal in enumerate(pending):
        benchmark.removals.append(removal)
        if not budget:
            removal.reason = "the time for this graph was up"
            continue
        removal.reason = DIED
        write()
        try:
            _one(setup, removal, whole, replays, budget.part(1 / (len(pending) - number)))
        except GraphLensError as error:
            removal.reason = f"the replay without these nodes failed: {error}"
            if not isinstance(error, HungError) and _alive(setup):
                continue
            for rest in pending[number + 1 :]:
                rest.reason = "an earlier removal left the device in an error"
                benchmark.removals.append(rest)
            raise
        finally:
            write()


def _alive(setup: Setup) -> bool:
    try:
        setup.driver.synchronize_device()
    except DriverError:
        return False
    return True


def _one(setup: Setup, removal: Removal, whole: int, replays: int, budget: Budget) -> None:
    watch = setup.watch
    without = setup.without([int(name) for name in removal.nodes])
    removal.extra["how"] = HOW
    batches = 0
    while len(removal.with_ns) < replays and (budget or batches < FEWEST_BATCHES):
        count = min(watch.batch, replays - len(removal.with_ns))
        setup.restore(always=True)
        removal.with_ns += watch.warm_ns(whole, count, setup.wipe)
        setup.restore(always=True)
        removal.without_ns += watch.warm_ns(without, count, setup.wipe)
        batches += 1
    setup.drop(without)
    removal.reason = ""
