"""What is measured of the graphs that a process kept, in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ...benchmarks import Benchmark, NodeCosts
from ...codec import dump
from ...errors import DriverError, GraphLensError
from ...measure_request import EACH, MeasureRequest
from . import bench, costs, removals
from .conditions import Watcher
from .safety import notes_of
from .setup import Budget, Setup
from .stopwatch import HungError
from .torch_eager import EagerCalls, capture_again_ns
from .torch_keep import Keeper, Kept
from .torch_prepare import on_device, ready, watched

RECAPTURES = 3
CUPTI_LOADED = (
    "CUPTI was used in this process before: CPU times of launches and of eager calls may be longer "
    "for it; cglens bench measures without it"
)
DIED_WITHOUT = "the process died in a replay without it"
DIED = "the process died while it was being measured: what is here came before"


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
    cupti_was_loaded : bool
        Whether replays were traced, or could have been.
    """

    def __init__(
        self,
        keeper: Keeper,
        driver: Any,
        write: Callable[..., None],
        traced_shares: Callable[[int], Mapping[int, float]],
        tell: Callable[[str], None],
        cupti_was_loaded: bool = False,
    ) -> None:
        self.keeper = keeper
        self.request: MeasureRequest = keeper.request
        self.driver = driver
        self.hung = ""
        self._cupti_was_loaded = cupti_was_loaded
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
        passes: list[tuple[str, Callable[[Kept, Benchmark], None], Callable[[Kept], bool]]] = [
            ("measuring", self._bench, lambda kept: self.request.bench),
            ("profiling", self._split, lambda kept: self.request.bench and kept.call is not None),
            # What may break the device comes last, what may break it most at the very end.
            ("measuring nodes of", self._isolated, self._wants_isolated),
            ("removing nodes from", self._remove, lambda kept: bool(self.request.removals)),
            ("leaving out nodes of", self._marginal, lambda kept: self.request.nodes),
        ]
        try:
            for verb, work, concerns in passes:
                self._pass(verb, work, [kept for kept in todo if concerns(kept)])
        except Stopped as error:
            self._stopped(todo, str(error))
        except KeyboardInterrupt:
            self._stopped(todo, "measuring was interrupted")

    def _wants_isolated(self, kept: Kept) -> bool:
        """Say whether nodes' times are needed and no replay was traced that tells them."""
        each = any(text == EACH for _, text in self.request.removals)
        return self.request.nodes or (each and not self._traced_shares(kept.serial))

    def _pass(self, verb: str, work: Callable[[Kept, Benchmark], None], todo: list[Kept]) -> None:
        for number, kept in enumerate(todo, start=1):
            benchmark = self._benchmarks[kept.serial]
            if benchmark.refused:
                continue
            nodes = len(kept.graph)
            self._tell(f"{verb} graph {number} of {len(todo)}: {kept.name} ({nodes} nodes)")
            self._mark(kept, benchmark)
            try:
                with on_device(kept.device):
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
                self._unmark(benchmark)
                self._put(kept)

    def _mark(self, kept: Kept, benchmark: Benchmark) -> None:
        """Write what is to be read if the process dies of what comes now."""
        benchmark.notes.append(DIED)
        self._put(kept)

    @staticmethod
    def _unmark(benchmark: Benchmark) -> None:
        benchmark.notes[:] = [note for note in benchmark.notes if note != DIED]

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

    def _ready(self, kept: Kept, benchmark: Benchmark) -> AbstractContextManager[Setup | None]:
        return ready(self.driver, kept, benchmark, partly=self.request.unsaved)

    def _bench(self, kept: Kept, benchmark: Benchmark) -> None:
        with self._ready(kept, benchmark) as setup:
            if setup is None:
                return
            benchmark.notes += notes_of(kept.graph)
            benchmark.capture_ns.append(kept.capture_ns)
            if self._cupti_was_loaded:
                benchmark.notes.append(CUPTI_LOADED)
            with watched(kept, benchmark) as watcher:
                if kept.call is not None:
                    self._recapture(kept.call, benchmark)
                bench.measure(
                    setup,
                    benchmark,
                    Budget(self.request.seconds),
                    replays=self.request.replays,
                    cold=self.request.cold,
                    l2_bytes=self._l2_bytes(kept.device),
                    eager=EagerCalls(kept.call) if kept.call is not None else None,
                    between=watcher.sample,
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

    @contextmanager
    def _with_nodes_left_out(
        self, kept: Kept, benchmark: Benchmark
    ) -> Iterator[tuple[Setup, Watcher] | None]:
        with self._ready(kept, benchmark) as setup:
            if setup is None:
                yield None
                return
            setup.blank = True
            with watched(kept, benchmark) as watcher:
                yield setup, watcher

    def _isolated(self, kept: Kept, benchmark: Benchmark) -> None:
        with self._with_nodes_left_out(kept, benchmark) as found:
            if found is not None:
                setup, watcher = found
                nodes = benchmark.nodes = NodeCosts()
                positions = costs.rows(setup, nodes)
                budget = Budget(self.request.seconds)
                costs.isolated(setup, nodes, positions, budget, watcher.sample)

    def _remove(self, kept: Kept, benchmark: Benchmark) -> None:
        with self._with_nodes_left_out(kept, benchmark) as found:
            if found is None:
                return
            setup, _ = found
            shares = self._traced_shares(kept.serial)
            if not shares and benchmark.nodes is not None:
                shares = costs.shares(benchmark.nodes)
            wanted = removals.wanted(setup, kept.key, self.request.removals, shares)
            budget = Budget(self.request.seconds)
            removals.measure(
                setup, benchmark, wanted, self.request.replays, budget, lambda: self._put(kept)
            )

    def _marginal(self, kept: Kept, benchmark: Benchmark) -> None:
        nodes = benchmark.nodes
        if nodes is None:
            return
        positions = list(range(min(len(nodes.node), costs.MOST_NODES)))
        reasons, last = dict(nodes.reasons), [""]

        def before(position: int) -> None:
            nodes.reasons = dict(reasons)
            last[0] = str(position)
            nodes.reasons[last[0]] = DIED_WITHOUT
            self._put(kept)

        with self._with_nodes_left_out(kept, benchmark) as found:
            if found is None:
                return
            try:
                costs.marginal(found[0], nodes, positions, Budget(self.request.seconds), before)
            except GraphLensError as error:
                for position in positions:
                    if nodes.marginal_ns[position] == costs.NOT_TAKEN:
                        nodes.reasons.setdefault(str(position), "a node before it broke the device")
                nodes.reasons[last[0]] = f"the replay without it failed: {error}"
                raise
            if nodes.reasons.get(last[0]) == DIED_WITHOUT:
                del nodes.reasons[last[0]]
                nodes.reasons.update(reasons)

    def _l2_bytes(self, device: int | None) -> int:
        try:
            gpu = self.driver.devices()[device or 0]
        except (GraphLensError, IndexError):
            return 0
        return int(gpu.l2_bytes or 0)
