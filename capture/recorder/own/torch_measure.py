"""Measures every kept graph, at the end of the process that captured it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from time import perf_counter_ns as clock
from typing import Any

from ...benchmarks import Benchmark, NodeCosts
from ...codec import dump
from ...errors import DriverError, GraphLensError
from ...measure_request import EACH, MeasureRequest
from . import bench, costs, removals
from .conditions import Watcher
from .pointers import addresses, lost
from .safety import notes_of
from .saved_state import SavedState, host_bytes, plan
from .setup import Budget, Setup
from .stopwatch import HungError, Stopwatch
from .torch_eager import EagerCalls, capture_again_ns
from .torch_keep import Keeper, Kept, memory_blocks

RECAPTURES = 3


class Stopped(Exception):
    """Nothing more can be measured in this process."""


class Measurement:
    """The measurements of one process.

    Parameters
    ----------
    keeper : Keeper
    driver : ReplayDriver
    write : callable
        ``write(kind, serial, **fields)`` appends to every journal.
    traced_shares : callable
        ``traced_shares(serial)`` returns each node's share of the traced replays, by position.
    tell : callable
        Says a line to the user.
    """

    def __init__(
        self,
        keeper: Keeper,
        driver: Any,
        write: Callable[..., None],
        traced_shares: Callable[[int], Mapping[int, float]],
        tell: Callable[[str], None],
    ) -> None:
        self.keeper = keeper
        self.request: MeasureRequest = keeper.request
        self.driver = driver
        self.hung = ""
        self._write = write
        self._traced_shares = traced_shares
        self._tell = tell
        self._benchmarks: dict[int, Benchmark] = {}

    def run(self) -> None:
        """Measure what was asked for; whatever stops it is written down."""
        for serial, why in self.keeper.left_out:
            self._write("benchmarks_absent", serial, text=why)
        todo = []
        for kept in self.keeper.kept:
            self._benchmarks[kept.serial] = Benchmark(
                graph=kept.key, refused=kept.refused, notes=list(kept.notes)
            )
            if kept.refused:
                self._put(kept)
            else:
                todo.append(kept)
        passes: list[tuple[str, Callable[[Kept, Benchmark], None]]] = []
        if self.request.bench or self._wants_isolated():
            passes.append(("measuring", self._bench))
        if self.request.bench:
            passes.append(("profiling", self._split))
        # What may kill the process comes last.
        if self.request.nodes or self.request.removals:
            passes.append(("disabling nodes of", self._disable))
        try:
            for verb, work in passes:
                self._pass(verb, work, todo)
        except Stopped as error:
            self._stopped(todo, str(error))
        except KeyboardInterrupt:
            self._stopped(todo, "measuring was interrupted")

    def _wants_isolated(self) -> bool:
        return self.request.nodes or any(text == EACH for _, text in self.request.removals)

    def _pass(self, verb: str, work: Callable[[Kept, Benchmark], None], todo: list[Kept]) -> None:
        for number, kept in enumerate(todo, start=1):
            benchmark = self._benchmarks[kept.serial]
            if benchmark.refused or (work == self._split and kept.call is None):
                continue
            nodes = len(kept.graph)
            self._tell(f"{verb} graph {number} of {len(todo)}: {kept.name} ({nodes} nodes)")
            try:
                with _on_device(kept.device):
                    work(kept, benchmark)
            except HungError as error:
                self.hung = str(error)
                benchmark.notes.append(f"{verb} it stopped: {error}")
                raise Stopped(self.hung) from error
            except GraphLensError as error:
                benchmark.notes.append(f"{verb} it stopped: {error}")
                self._check_device(kept, error)
            except Stopped:
                raise
            except Exception as error:  # the user's function among others
                benchmark.notes.append(f"{verb} it stopped: {type(error).__name__}: {error}")
                self._check_device(kept, error)
            finally:
                self._put(kept)

    def _check_device(self, kept: Kept, error: Exception) -> None:
        try:
            self.driver.synchronize_device()
        except DriverError as sticky:
            raise Stopped(
                f"measuring {kept.key} left the device in an error ({sticky}), after {error}"
            ) from error

    def _stopped(self, todo: list[Kept], why: str) -> None:
        for kept in todo:
            benchmark = self._benchmarks[kept.serial]
            if not any(why in note for note in benchmark.notes):
                benchmark.notes.append(f"not measured further: {why}")
            self._put(kept)

    def _put(self, kept: Kept) -> None:
        self._write("benchmarks", kept.serial, document=dump(self._benchmarks[kept.serial]))

    @contextmanager
    def _ready(self, kept: Kept, benchmark: Benchmark) -> Iterator[Setup | None]:
        """Save memory and make a setup; put everything back afterwards."""
        blocks = memory_blocks(kept.device)
        known = [
            address
            for address in kept.resolved
            if blocks.find(address) is None and self.driver.range_of(address) is not None
        ]
        gone = lost(kept.resolved, blocks, known)
        if gone is not None:
            address, pointer = gone
            benchmark.refused = (
                f"memory it uses was freed: {pointer.what} of node {pointer.node} "
                f"({address:#x}) was memory at capture and is none now; keep what the graph reads "
                f"and writes until the script ends"
            )
            yield None
            return
        self.driver.synchronize_device()
        saved = plan(self.driver, addresses(kept.graph), blocks)
        state = SavedState(self.driver, saved.regions, host_bytes())
        watch = Stopwatch(self.driver)
        setup = Setup(self.driver, kept.graph, kept.clone, kept.nodes, state, watch)
        benchmark.saved_bytes = state.size_bytes
        for note in saved.notes:
            _once(benchmark.notes, note)
        if state.on_host:
            _once(benchmark.notes, "memory was saved on the host: the device had no room for it")
        try:
            yield setup
            watch.idle()
            state.restore(watch.stream)
            compared, wrong = state.differing(watch.stream)
            if wrong:
                _once(
                    benchmark.notes,
                    f"{wrong} blocks of memory differ after they were put back ({compared} bytes "
                    f"compared): something else wrote to them",
                )
        finally:
            with suppress(GraphLensError):
                setup.close()
                state.close()
                watch.close()

    def _bench(self, kept: Kept, benchmark: Benchmark) -> None:
        with self._ready(kept, benchmark) as setup:
            if setup is None:
                return
            budget = Budget(self.request.seconds)
            watcher = Watcher(_uuid(kept.device))
            watcher.sample()
            benchmark.notes += notes_of(kept.graph)
            try:
                if self.request.bench:
                    benchmark.capture_ns.append(kept.capture_ns)
                    if kept.call is not None:
                        self._recapture(kept.call, benchmark)
                    bench.measure(
                        setup,
                        benchmark,
                        budget.part(0.5) if self._wants_isolated() else budget,
                        replays=self.request.replays,
                        cold=self.request.cold,
                        l2_bytes=self._l2_bytes(kept.device),
                        eager=EagerCalls(kept.call) if kept.call is not None else None,
                        between=watcher.sample,
                    )
                if self._wants_isolated():
                    nodes = benchmark.nodes = NodeCosts()
                    self._put(kept)
                    costs.isolated(setup, nodes, costs.rows(setup, nodes), budget, watcher.sample)
            finally:
                benchmark.conditions = watcher.close()
                if benchmark.conditions.processes:
                    benchmark.notes.append(
                        "other processes were on the device: they may have slowed replays, and "
                        "taken memory that counts as the executable's"
                    )

    @staticmethod
    def _recapture(call: Callable[[], Any], benchmark: Benchmark) -> None:
        for _ in range(RECAPTURES):
            try:
                benchmark.capture_ns.append(capture_again_ns(call))
            except Exception as error:
                benchmark.notes.append(f"capturing it again failed: {error}")
                return

    def _split(self, kept: Kept, benchmark: Benchmark) -> None:
        if kept.call is None or benchmark.eager is None:
            return
        with self._ready(kept, benchmark) as setup:
            if setup is not None:
                EagerCalls(kept.call).profile(benchmark.eager)

    def _disable(self, kept: Kept, benchmark: Benchmark) -> None:
        with self._ready(kept, benchmark) as setup:
            if setup is None:
                return
            if self.request.nodes and benchmark.nodes is not None:
                self._marginal(setup, kept, benchmark, benchmark.nodes)
                setup.close()
            if self.request.removals:
                self._remove(setup, kept, benchmark)

    def _marginal(self, setup: Setup, kept: Kept, benchmark: Benchmark, nodes: NodeCosts) -> None:
        positions = [
            int(node)
            for node, isolated_ns in zip(nodes.node, nodes.isolated_ns, strict=True)
            if isolated_ns >= 0 or node not in nodes.reasons
        ]
        last: list[str] = []

        def before(position: int) -> None:
            for node in last:
                nodes.reasons.pop(node, None)
            last[:] = [str(position)]
            nodes.reasons[last[0]] = removals.DIED.replace("these nodes were", "it was")
            self._put(kept)

        budget = Budget(self.request.seconds)
        try:
            costs.marginal(setup, nodes, positions, budget, before)
        except GraphLensError as error:
            for node in last:
                nodes.reasons[node] = f"the replay failed while it was disabled: {error}"
            raise
        for node in last:
            nodes.reasons.pop(node, None)

    def _remove(self, setup: Setup, kept: Kept, benchmark: Benchmark) -> None:
        shares = self._traced_shares(kept.serial)
        if not shares and benchmark.nodes is not None:
            shares = costs.shares(benchmark.nodes)
        wanted = removals.wanted(setup, kept.key, self.request.removals, shares)
        budget = Budget(self.request.seconds)
        removals.measure(
            setup, benchmark, wanted, self.request.replays, budget, lambda: self._put(kept)
        )

    def _l2_bytes(self, device: int | None) -> int:
        try:
            gpu = self.driver.devices()[device or 0]
        except (GraphLensError, IndexError):
            return 0
        return int(gpu.l2_bytes or 0)


def _once(notes: list[str], note: str) -> None:
    if note not in notes:
        notes.append(note)


@contextmanager
def _on_device(device: int | None) -> Iterator[None]:
    import torch

    if device is None:
        yield
        return
    with torch.cuda.device(device):
        yield


def _uuid(device: int | None) -> str:
    import torch

    properties = torch.cuda.get_device_properties(device or 0)
    return str(getattr(properties, "uuid", ""))


def tell(line: str) -> None:
    """Say a line on standard error."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"cglens: {line}\n")
        sys.stderr.flush()


def measure(session: Any) -> str:
    """Measure what a session kept, and let go of it.

    Parameters
    ----------
    session : Session

    Returns
    -------
    str
        Why the process cannot go on: a replay of ours hangs. Empty when all is well.
    """
    keeper, session.keeper = session.keeper, None
    if keeper is None or not (keeper.kept or keeper.left_out):
        return ""
    start = clock()
    session.muted = True
    try:
        found = _measure(session, keeper)
    finally:
        session.muted = False
        session.add_cost("measure", keeper.cost_ns + clock() - start)
    return found


def _measure(session: Any, keeper: Keeper) -> str:
    def write(kind: str, serial: int, **fields: Any) -> None:
        for sink in session.sinks:
            sink.write(kind, serial, **fields)

    why = _not_now()
    driver = None
    if not why:
        try:
            driver = session.driver()
            driver.synchronize_device()
        except GraphLensError as error:
            why = f"the workload left CUDA in an error: {error}"
    if why or driver is None:
        for kept in keeper.kept:
            write("benchmarks_absent", kept.serial, text=f"nothing was measured: {why}")
        return ""
    traced = session.stop_tracing()

    def shares_of(serial: int) -> Mapping[int, float]:
        timings = traced.get(serial)
        return removals.traced_shares(timings) if timings is not None else {}

    measurement = Measurement(keeper, driver, write, shares_of, tell)
    measurement.run()
    return measurement.hung


def _not_now() -> str:
    """Say why a process that ended like this one is not to be kept waiting."""
    import threading

    if isinstance(getattr(sys, "last_value", None), KeyboardInterrupt):
        return "the script was interrupted"
    if threading.current_thread() is not threading.main_thread():
        return "the process did not end on its main thread"
    return ""
