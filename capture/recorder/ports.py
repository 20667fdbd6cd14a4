"""What traces, keeps and locates for an observer, as far as an observer knows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..model import Graph
from ..outside import Outside
from ..timings import Timings
from .open_capture import OpenCapture
from .timeline import ExecutableState


class Tracer(Protocol):
    """What traces replays, as far as an observer knows it."""

    reason: str
    cost_ns: int
    callback_ns: int

    @property
    def open(self) -> bool:
        """Whether replays can be traced."""

    def prepare(self) -> None:
        """Get ready, before a capture."""

    def expect(self) -> None:
        """Listen to the instantiate that follows on this thread."""

    def forget(self) -> BaseException | None:
        """Stop listening; return what interrupted a callback."""

    def rest(self) -> None:
        """Stop tracing before a replay that is not to be traced; never raises."""

    def abandon(self) -> None:
        """Leave everything alone, in a forked child."""

    def instantiated(
        self, state: ExecutableState, graph: Graph, levels: Sequence[tuple[str, list[int]]]
    ) -> None:
        """Plan the tracing of a new executable."""

    def replay(self, state: ExecutableState, launch: Callable[[], Any]) -> Any:
        """Run a replay as its plan says."""

    def results(self) -> list[tuple[ExecutableState, Timings | None, str]]:
        """Return timings of every executable, or why there are none."""

    def outside(self) -> Outside | None:
        """Return, once, what ran beside the graphs while replays were traced."""


class Keeper(Protocol):
    """What keeps graphs for replays of our own, as far as an observer knows it."""

    def clone(self, driver: Any, capture: OpenCapture) -> None:
        """Clone a graph whose nodes were just read; part of the cost of reading."""

    def keep(self, driver: Any, graph: Any, capture: OpenCapture, serial: int) -> None:
        """Keep a graph whose capture has ended well."""

    def function(self, serial: int, call: Callable[[], Any]) -> None:
        """Take note of the function that a graph was captured from by us."""

    def failed(self, driver: Any, capture: OpenCapture) -> None:
        """Drop the clone of a capture that did not end well."""


class Locator(Protocol):
    """What stands at replays to find a guilty node, as far as an observer knows it."""

    def begun(self, driver: Any, capture: OpenCapture) -> None:
        """Take note of a capture that has begun."""

    def read(self, driver: Any, capture: OpenCapture) -> None:
        """Clone a graph whose nodes were just read and whose capture is about to end."""

    def captured(self, driver: Any, graph: Any, capture: OpenCapture) -> None:
        """Get ready for replays of a graph whose capture ended well."""

    def called(self, graph: Any, call: Callable[[], Any]) -> None:
        """Take note of the function that a graph was captured from by us."""

    def failed(self, capture: OpenCapture) -> None:
        """Forget a capture that did not end well."""
