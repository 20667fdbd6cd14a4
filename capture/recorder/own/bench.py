"""Instantiate, upload, launch and replay times of one graph, eager calls in turns with them."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter_ns as clock
from typing import Protocol

from ...benchmarks import Benchmark, Eager
from ...errors import DriverError
from .setup import Budget, Setup

FRESH = 5
"""Executables made to see what making one takes."""
FEWEST = 3
FLUSH_TIMES_L2 = 2
EAGER_PER_ROUND = 3


class Calls(Protocol):
    """The function without a graph."""

    def sample(self) -> tuple[int, int, int]:
        """Call it once; return call, CPU and GPU time in nanoseconds."""
        ...


def measure(
    setup: Setup,
    benchmark: Benchmark,
    budget: Budget,
    *,
    replays: int,
    cold: bool,
    l2_bytes: int,
    eager: Calls | None = None,
    between: Callable[[], None] = lambda: None,
) -> None:
    """Fill a benchmark's samples.

    Parameters
    ----------
    setup : Setup
    benchmark : Benchmark
    budget : Budget
        No further round begins when it is spent.
    replays : int
        Samples of each kind, at most.
    cold : bool
        Also replay with a cold L2.
    l2_bytes : int
        Size of the device's L2, 0 when it is not known.
    eager : Calls, optional
    between : callable
        Called between measurements, never during one.

    Raises
    ------
    DriverError
        The device refused or failed.
    HungError
        A replay did not end.
    """
    setup.restore(always=True)
    executable = setup.instantiate()
    setup.pace(executable)
    between()
    _fresh(setup, benchmark, budget.part(0.2))
    between()
    flush = _flush(setup, cold, l2_bytes)
    _rounds(setup, benchmark, budget, executable, replays, flush, eager, between)
    _explain(setup, benchmark, replays, cold, l2_bytes)


def _fresh(setup: Setup, benchmark: Benchmark, budget: Budget) -> None:
    """Make executables: of each pair one is launched at once, as torch does, one uploaded."""
    driver, stream = setup.driver, setup.watch.stream
    held: list[int] = []
    try:
        before, _ = driver.memory_info()
        for number in range(FRESH):
            setup.restore()
            start = clock()
            executable = setup.instantiate(keep=False)
            made = clock()
            held.append(executable)
            driver.launch(executable, stream)
            launched = clock()
            setup.watch.idle()
            benchmark.instantiate_ns.append(made - start)
            benchmark.first_launch_ns.append(launched - made)
            start = clock()
            executable = setup.instantiate(keep=False)
            made = clock()
            held.append(executable)
            driver.upload(executable, stream)
            uploaded = clock()
            setup.watch.idle()
            benchmark.instantiate_ns.append(made - start)
            benchmark.upload_ns.append(uploaded - made)
            if not budget and number + 1 >= 2:
                break
        after, _ = driver.memory_info()
        benchmark.executable_bytes = max(0, before - after) // len(held)
    finally:
        for executable in held:
            setup.discard(driver.destroy_executable, executable)


def _flush(setup: Setup, cold: bool, l2_bytes: int) -> tuple[int, int] | None:
    if not cold or not l2_bytes:
        return None
    size = FLUSH_TIMES_L2 * l2_bytes
    try:
        return setup.driver.allocate(size), size
    except DriverError:
        return None


def _rounds(
    setup: Setup,
    benchmark: Benchmark,
    budget: Budget,
    executable: int,
    replays: int,
    flush: tuple[int, int] | None,
    eager: Calls | None,
    between: Callable[[], None],
) -> None:
    """Take turns until there are enough samples of each kind, or time is up."""
    watch = setup.watch
    warm, cold, launches = benchmark.replay_ns, benchmark.cold_replay_ns, benchmark.launch_cpu_ns
    try:
        while len(warm) < replays and (budget or len(warm) < FEWEST):
            count = min(watch.batch, replays - len(warm))
            setup.restore()
            warm += watch.warm_ns(executable, count)
            setup.restore()
            launches += [watch.launch_cpu_ns(executable) for _ in range(count)]
            if flush is not None:
                setup.restore()
                cold += watch.cold_ns(executable, count, flush)
            if eager is not None:
                setup.restore()
                _call(benchmark, eager, min(EAGER_PER_ROUND, count))
            between()
    finally:
        if flush is not None:
            setup.discard(setup.driver.free, flush[0])


def _call(benchmark: Benchmark, eager: Calls, count: int) -> None:
    found = benchmark.eager
    if found is None:
        found = benchmark.eager = Eager()
    for _ in range(count):
        call_ns, cpu_ns, gpu_ns = eager.sample()
        found.call_ns.append(call_ns)
        found.cpu_ns.append(cpu_ns)
        found.gpu_ns.append(gpu_ns)


def _explain(setup: Setup, benchmark: Benchmark, replays: int, cold: bool, l2_bytes: int) -> None:
    notes = benchmark.notes
    notes.append(
        "replays are of an executable made of a clone, on a stream of its own; first launches are "
        "of executables that were not uploaded, as torch launches them"
    )
    if setup.restores_rarely:
        notes.append(
            "putting memory back takes long, so it is done once a phase: values drift from "
            "replay to replay as they would in a loop"
        )
    if setup.watch.gated and setup.watch.ungated:
        notes.append(f"replays are not held back until all are queued: {setup.watch.ungated}")
    if cold and not benchmark.cold_replay_ns:
        notes.append(
            "no replays with a cold L2: "
            + ("no memory for the buffer" if l2_bytes else "its size is not known")
        )
    if len(benchmark.replay_ns) < replays:
        notes.append(
            f"{len(benchmark.replay_ns)} of {replays} samples: the time for this graph was up"
        )
    if benchmark.executable_bytes is not None:
        notes.append(
            f"executable memory is the mean of {len(benchmark.instantiate_ns)} executables; the "
            f"device gives memory in pieces of 2 MiB, so small ones may show as 0"
        )
    if benchmark.replay_ns and median(benchmark.replay_ns) < 10_000:
        notes.append("a replay is shorter than 10 us: events themselves take part of that")
