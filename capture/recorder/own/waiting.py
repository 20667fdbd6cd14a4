"""Launches on a stream of the script's, and waits with a limit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from ...driver.records import RELAXED
from ...driver.replay_protocol import ReplayDriver
from .stopwatch import HungError

_SPIN_S = 0.002
_PAUSE_S = 0.0005


class Waiting:
    """Launches on the script's stream and waits with a limit.

    Attributes
    ----------
    node : int
        What runs; -1 for none.
    path : str
        Of a node inside a child graph; empty for none.
    """

    def __init__(self, driver: ReplayDriver, stream: int, timeout_s: float) -> None:
        self.driver = driver
        self.stream = stream
        self.node = -1
        self.path = ""
        self._timeout_s = timeout_s
        self._event = 0

    def run(self, executable: int) -> None:
        """Launch an executable and wait for it.

        Raises
        ------
        DriverError
            It failed.
        HungError
            It does not end.
        """
        self.driver.launch(executable, self.stream)
        self.idle()

    def idle(self) -> None:
        """Wait until the stream has nothing to do; raises as :meth:`run` does."""
        driver = self.driver
        if not self._event:
            self._event = driver.new_event()
        driver.record_event(self._event, self.stream)
        start = perf_counter()
        while not driver.is_done(self._event):
            passed = perf_counter() - start
            if passed > self._timeout_s:
                raise HungError(f"it did not end within {self._timeout_s:g} s")
            if passed > _SPIN_S:
                time.sleep(_PAUSE_S)


@contextmanager
def relaxed(driver: Any) -> Iterator[None]:
    """Let driver calls of this thread be, whatever other threads capture."""
    mode = driver.exchange_capture_mode(RELAXED)
    try:
        yield
    finally:
        driver.exchange_capture_mode(mode)
