"""Times of replays, taken with events on a stream of our own."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter_ns as clock

from ...driver.replay_protocol import ReplayDriver
from ...errors import DriverError, GraphLensError

BATCH = 5
"""Replays that are timed behind one gate: few, since memory drifts from replay to replay."""
GATE_LIMIT_S = 0.5
"""After which a gate opens by itself: a launch may wait for room that only replays make."""
HUNG_AFTER_S = 60.0
_SPIN_NS = 2_000_000
_PAUSE_S = 0.0002


class HungError(GraphLensError):
    """A replay of ours did not end."""


class Stopwatch:
    """A stream, a pair of events for each replay of a batch, and a gate.

    The gate keeps the device from starting before all launches of a batch are in its queue, so
    that a replay of a few microseconds is not measured together with the time the CPU takes to
    launch the next.

    Parameters
    ----------
    driver : ReplayDriver
    hung_after_s : float, optional
        After which a replay that has not ended is given up.
    """

    def __init__(self, driver: ReplayDriver, hung_after_s: float | None = None) -> None:
        self.driver = driver
        self.stream = driver.new_stream()
        self._pairs = [(driver.new_event(), driver.new_event()) for _ in range(BATCH)]
        self._page = driver.allocate_host(4096)
        self._word = ctypes.c_uint32.from_address(self._page)
        self._word.value = 0
        self._turn = 0
        self._hung_after_s = HUNG_AFTER_S if hung_after_s is None else hung_after_s
        self.hung = False
        """Whether a replay did not end: everything that waits for the device would, too."""
        self.ungated = ""
        """Why replays are timed without the gate, which they should be."""
        self.batch = BATCH
        """Replays of a batch, at most."""
        self.gated = True
        """Whether there is need for it: not where a replay outlasts its launch anyway."""

    def close(self) -> None:
        """Give everything back, unless that would wait for ever."""
        if self.hung:
            return
        with suppress(DriverError):
            for pair in self._pairs:
                for event in pair:
                    self.driver.destroy_event(event)
            self.driver.free_host(self._page)
            self.driver.destroy_stream(self.stream)

    def wait(self, event: int) -> None:
        """Wait for an event.

        Raises
        ------
        HungError
            It does not come.
        DriverError
            Work before it failed.
        """
        start = clock()
        while not self.driver.is_done(event):
            passed = clock() - start
            if passed > self._hung_after_s * 1e9:
                self.hung = True
                raise HungError(
                    f"a replay of ours did not end within {self._hung_after_s:.0f} s: a node may "
                    f"wait for something that only the script, or a disabled node, gives"
                )
            if passed > _SPIN_NS:
                time.sleep(_PAUSE_S)

    def idle(self) -> None:
        """Wait until the stream has nothing to do."""
        event = self._pairs[0][0]
        self.driver.record_event(event, self.stream)
        self.wait(event)

    def launch_cpu_ns(self, executable: int) -> int:
        """Return the CPU time of the call that launches, with an idle device before it."""
        self.idle()
        start = clock()
        self.driver.launch(executable, self.stream)
        took = clock() - start
        self.idle()
        return took

    def once_ns(self, executable: int) -> int:
        """Return the GPU time of one replay, whatever came before."""
        return self._timed(executable, 1, None, gated=False)[0]

    def warm_ns(
        self, executable: int, count: int, prepare: Callable[[], None] | None = None
    ) -> list[int]:
        """Return GPU times of replays, at most a batch, one right after another.

        One more runs before them, so that the L2 holds what a replay leaves there.

        Parameters
        ----------
        executable, count : int
        prepare : callable, optional
            Puts work into the stream before every replay.
        """
        return self._timed(executable, count, prepare, gated=True, first=True)

    def cold_ns(self, executable: int, count: int, flush: tuple[int, int]) -> list[int]:
        """Return GPU times of replays after each of which other memory was written.

        Parameters
        ----------
        flush : tuple of int
            Address and size of that memory.
        """

        def write() -> None:
            self.driver.fill(*flush, 1, self.stream)

        return self._timed(executable, count, write, gated=True)

    def _timed(
        self,
        executable: int,
        count: int,
        prepare: Callable[[], None] | None,
        *,
        gated: bool,
        first: bool = False,
    ) -> list[int]:
        driver, stream = self.driver, self.stream
        pairs = self._pairs[: min(count, self.batch)]
        gate = self._close_gate() if gated and self.gated and not self.ungated else None
        try:
            if first:
                if prepare is not None:
                    prepare()
                driver.launch(executable, stream)
            for before, after in pairs:
                if prepare is not None:
                    prepare()
                driver.record_event(before, stream)
                driver.launch(executable, stream)
                driver.record_event(after, stream)
        finally:
            if gate is not None:
                self._open_gate(gate)
        self.wait(pairs[-1][1])
        return [driver.elapsed_ns(*pair) for pair in pairs]

    def _close_gate(self) -> threading.Timer | None:
        self._turn += 1
        timer = threading.Timer(GATE_LIMIT_S, self._time_up)
        timer.daemon = True
        try:
            # First the thread that opens it whatever happens: there may be none to be had.
            timer.start()
            self.driver.hold(self.stream, self._page, self._turn)
        except (DriverError, RuntimeError) as error:
            timer.cancel()
            self.ungated = str(error)
            return None
        return timer

    def _time_up(self) -> None:
        self.ungated = "launches waited for room in the device's queue"
        self._word.value = self._turn

    def _open_gate(self, timer: threading.Timer) -> None:
        self._word.value = self._turn
        timer.cancel()
