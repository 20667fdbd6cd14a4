"""One graph made ready for replays of our own, and how long they may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter

from ...driver.replay_protocol import ReplayDriver
from ...errors import DriverError
from ...memory.addresses import BlockMap
from ...model import Graph
from .bypass import bypass
from .saved_state import SavedState
from .stopwatch import BATCH, Stopwatch

AUTO_FREE_ON_LAUNCH, USE_NODE_PRIORITY = 1, 8
TORCH_FLAGS = AUTO_FREE_ON_LAUNCH | USE_NODE_PRIORITY
"""As ``torch.cuda.CUDAGraph`` instantiates."""
CAN_BE_DISABLED = {"kernel": 0, "memcpy": 1, "memset": 2}
"""Types of nodes that ``cuGraphNodeSetEnabled`` takes, and their numbers."""
SLOW_RESTORE_S = 0.25
SHORT_NS = 2_000_000
"""Replays up to this long are timed behind a gate; longer ones outlast their launch anyway."""
LONG_NS = 100_000_000
"""Replays from this long on are timed one by one, so that time is looked at in between."""


class Budget:
    """Seconds that may be spent.

    Parameters
    ----------
    seconds : float
    now : callable
        Returns seconds.
    """

    def __init__(self, seconds: float, now: Callable[[], float] = perf_counter) -> None:
        self._now = now
        self._end = now() + seconds

    @property
    def left_s(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self._end - self._now())

    def part(self, share: float) -> Budget:
        """Return a budget of a part of what is left."""
        return Budget(self.left_s * share, self._now)

    def __bool__(self) -> bool:
        return self.left_s > 0


class Setup:
    """A clone, its executables, and the memory that they may write.

    Parameters
    ----------
    driver : ReplayDriver
    graph : Graph
    clone : int
        Handle of the graph that is instantiated.
    nodes : list of int
        Its nodes, by position.
    state : SavedState
    watch : Stopwatch
    """

    def __init__(
        self,
        driver: ReplayDriver,
        graph: Graph,
        clone: int,
        nodes: list[int],
        state: SavedState,
        watch: Stopwatch,
    ) -> None:
        self.driver = driver
        self.graph = graph
        self.clone = clone
        self.nodes = nodes
        self.state = state
        self.watch = watch
        self._executables: list[int] = []
        self._flags = TORCH_FLAGS
        self.spans = BlockMap([])
        """Parts of private pools that nodes point into: there blocks bound nothing."""
        self.blank = False
        """Whether temporaries are filled with zeros before a batch: where nodes are left out."""
        self._wiping = 0
        self._slow = False

    def instantiate(self, *, keep: bool = True) -> int:
        """Make an executable as torch does; one that is kept is destroyed by :meth:`close`."""
        try:
            executable = self.driver.instantiate(self.clone, self._flags)
        except DriverError:
            if not self._flags:
                raise
            self._flags = 0
            executable = self.driver.instantiate(self.clone, 0)
        if keep:
            self._executables.append(executable)
        return executable

    def pace(self, executable: int) -> None:
        """See how long a replay takes, and set the stopwatch accordingly."""
        first_ns = min(self.watch.once_ns(executable) for _ in range(2))
        self.watch.gated = first_ns <= SHORT_NS
        self.watch.batch = BATCH if first_ns < LONG_NS else 1

    def without(self, positions: Sequence[int]) -> int:
        """Make an executable of the graph without some nodes, on the device.

        They are taken out of a clone, and the others wait for each other as before. A node that
        is disabled instead still takes its turn: about 1 us each was measured on an H200.

        Raises
        ------
        GraphLensError
            The driver refuses, or too many edges were needed.
        """
        edges = bypass(self.graph.topology, positions)
        clone = self.driver.clone(self.clone)
        try:
            nodes = self.driver.find_in_clone(self.nodes, clone)
            self.driver.destroy_nodes([nodes[position] for position in positions])
            ends = [[nodes[edge[side]] for edge in edges] for side in (0, 1)]
            self.driver.add_edges(clone, *ends)
            executable = self.driver.instantiate(clone, self._flags)
        finally:
            self.driver.destroy(clone)
        self._executables.append(executable)
        self.settle(executable)
        return executable

    def drop(self, executable: int) -> None:
        """Destroy an executable before :meth:`close`."""
        self._executables.remove(executable)
        self.discard(self.driver.destroy_executable, executable)

    def settle(self, executable: int) -> None:
        """Bring an executable, new or changed, to the device.

        The first launch after a change may wait for the device, which a closed gate would hold.
        """
        self.driver.upload(executable, self.watch.stream)
        self.watch.idle()

    def ready(self) -> int:
        """Make an executable that is on the device."""
        executable = self.instantiate()
        self.settle(executable)
        return executable

    def restore(self, *, always: bool = False) -> None:
        """Put memory back before a batch; where that takes long, only where it must be done."""
        if self._slow and not always:
            return
        start = perf_counter()
        self.state.restore(self.watch.stream, blank=self.blank)
        self.watch.idle()
        if perf_counter() - start > SLOW_RESTORE_S:
            self._slow = True

    @property
    def wipe(self) -> Callable[[], None] | None:
        """What fills small temporaries with zeros before each replay of a batch, if it is to be."""
        if not self.blank:
            return None
        if not self._wiping:
            self._wiping = self._make_wiping()
        executable = self._wiping
        return lambda: self.driver.launch(executable, self.watch.stream)

    def _make_wiping(self) -> int:
        """Make an executable that fills small temporaries with zeros, all at once."""
        graph = self.driver.new_graph()
        try:
            for region in self.state.small_temporaries():
                self.driver.add_memset(graph, region.start, region.size_bytes)
            executable = self.driver.instantiate(graph, 0)
        finally:
            self.driver.destroy(graph)
        self._executables.append(executable)
        self.settle(executable)
        return executable

    @property
    def restores_rarely(self) -> bool:
        """Whether memory is put back only where a phase begins, because it takes long."""
        return self._slow

    def set_enabled(self, executable: int, position: int, enabled: bool) -> None:
        """Disable a node, or enable it again; of a child graph all nodes that do work.

        Raises
        ------
        DriverError
            The driver refuses; nodes that were changed before stay so.
        """
        if self.graph.topology.types[position] != "child_graph":
            self.driver.set_enabled(executable, self.nodes[position], enabled)
            return
        pending = [(self.graph.bodies_of(position)[0].graph, self.nodes[position])]
        while pending:
            body, holder = pending.pop()
            (inside,) = self.driver.child_graphs([holder]).values
            for at, node in enumerate(self.driver.nodes(inside or 0)):
                type_ = body.topology.types[at]
                if type_ in CAN_BE_DISABLED:
                    self.driver.set_enabled(executable, node, enabled)
                elif type_ == "child_graph":
                    pending.append((body.bodies_of(at)[0].graph, node))

    def close(self) -> None:
        """Destroy the executables."""
        executables, self._executables, self._wiping = self._executables, [], 0
        for executable in executables:
            self.discard(self.driver.destroy_executable, executable)

    def discard(self, destroy: Callable[[int], None], handle: int) -> None:
        """Give something back; not after a replay that hangs, which that would wait for."""
        if not self.watch.hung:
            with suppress(DriverError):
                destroy(handle)
