"""What single nodes cost: in a graph of their own, and by leaving them out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median, quantiles

from ...benchmarks import NodeCosts
from ...errors import DriverError
from ...topology import levels
from .setup import CAN_BE_DISABLED, Budget, Setup

REPETITIONS = 20
MOST_NODES = 2_000
SAMPLES = 3
MARGINAL_SAMPLES = 5
NOT_TAKEN = -1


def rows(setup: Setup, costs: NodeCosts, most: int = MOST_NODES) -> list[int]:
    """Give every node of the outermost level its row; return the positions that are measured."""
    types = setup.graph.topology.types
    costs.node = [str(position) for position in range(len(types))]
    costs.isolated_ns = [NOT_TAKEN] * len(types)
    costs.marginal_ns = [NOT_TAKEN] * len(types)
    for position in range(most, len(types)):
        costs.reasons[str(position)] = f"only the first {most} nodes are measured by themselves"
    for position, type_ in enumerate(types[:most]):
        if type_ not in CAN_BE_DISABLED:
            costs.reasons[str(position)] = (
                f"a node of type {type_} is not measured alone: only kernel, memcpy and memset "
                f"nodes are"
            )
    return list(range(min(most, len(types))))


def isolated(
    setup: Setup,
    costs: NodeCosts,
    positions: Sequence[int],
    budget: Budget,
    between: Callable[[], None] = lambda: None,
) -> None:
    """Measure nodes in a chain of copies of themselves.

    What a node reads may lie in memory that later nodes use again, so all nodes before it are
    replayed first: the last node comes first, and of one executable ever more is disabled.
    """
    costs.repetitions = REPETITIONS
    order = _order(setup)
    wanted = set(positions)
    before = setup.ready()
    for number, position in enumerate(reversed(order)):
        type_ = setup.graph.topology.types[position]
        if not budget:
            for rest in wanted.intersection(order[: len(order) - number]):
                costs.reasons.setdefault(str(rest), "the time for this graph was up")
            return
        if type_ in CAN_BE_DISABLED or type_ == "child_graph":
            setup.set_enabled(before, position, False)
        if position not in wanted or type_ not in CAN_BE_DISABLED:
            continue  # a child graph is only left out as a whole
        try:
            costs.isolated_ns[position] = _chain_ns(setup, position, before)
        except DriverError as error:
            setup.driver.synchronize_device()  # a refusal is this node's; a failure everyone's
            costs.reasons[str(position)] = f"its copy was refused: {error}"
        if number % 50 == 49:
            between()


def _order(setup: Setup) -> list[int]:
    """Return all positions, predecessors first."""
    level = levels(setup.graph.topology)
    positions = range(len(setup.graph))
    return list(positions) if level is None else sorted(positions, key=level.__getitem__)


def _chain_ns(setup: Setup, position: int, before: int) -> int:
    driver = setup.driver
    number = CAN_BE_DISABLED[setup.graph.topology.types[position]]
    graph = driver.new_graph()
    executable = 0
    try:
        last: list[int] = []
        for _ in range(REPETITIONS):
            last = [driver.add_copy(graph, setup.nodes[position], number, last)]
        executable = driver.instantiate(graph, 0)
        setup.settle(executable)
        setup.restore(always=True)
        driver.launch(before, setup.watch.stream)
        samples = setup.watch.warm_ns(executable, SAMPLES)
        return round(median(samples) / REPETITIONS)
    finally:
        if executable:
            setup.discard(driver.destroy_executable, executable)
        setup.discard(driver.destroy, graph)


def marginal(
    setup: Setup,
    costs: NodeCosts,
    positions: Sequence[int],
    budget: Budget,
    before_each: Callable[[int], None] = lambda position: None,
) -> None:
    """Measure replays without one node each, in turns with replays with all of them.

    Parameters
    ----------
    before_each : callable
        Called with the position that is about to be left out: the process may die of it.

    Notes
    -----
    The dearest node in isolation comes first: what a left-out node would have written is not
    there, and a kernel that takes it for an index may break the device, which ends all.
    """
    positions = sorted(positions, key=lambda position: -costs.isolated_ns[position])
    watch = setup.watch
    whole = setup.ready()
    setup.pace(whole)
    all_samples: list[int] = []
    for number, position in enumerate(positions):
        if not budget:
            for rest in positions[number:]:
                costs.reasons.setdefault(str(rest), "the time for this graph was up")
            break
        before_each(position)
        without = setup.without([position])
        setup.restore(always=True)
        around = watch.warm_ns(whole, MARGINAL_SAMPLES, setup.wipe)
        setup.restore(always=True)
        alone = watch.warm_ns(without, MARGINAL_SAMPLES, setup.wipe)
        setup.restore(always=True)
        around += watch.warm_ns(whole, MARGINAL_SAMPLES, setup.wipe)
        setup.drop(without)
        costs.marginal_ns[position] = round(median(around) - median(alone))
        all_samples += around
    costs.spread_ns = spread_ns(all_samples)


def spread_ns(samples: Sequence[int]) -> int:
    """Return the interquartile range.

    Examples
    --------
    >>> spread_ns([1, 2, 3, 4, 5, 6, 7])
    3
    """
    if len(samples) < 2:
        return 0
    low, _, high = quantiles(samples, n=4, method="inclusive")
    return round(high - low)


def shares(costs: NodeCosts) -> dict[int, float]:
    """Return each node's share of the sum of isolated times, by position."""
    known = {
        int(node): value
        for node, value in zip(costs.node, costs.isolated_ns, strict=False)
        if value >= 0
    }
    total = sum(known.values())
    return {position: value / total for position, value in known.items()} if total else {}
