"""What notes operators for :mod:`capture.recorder.torch_origins`: one in C++, one in Python."""

from __future__ import annotations

from types import FrameType
from typing import Protocol

from ...driver.protocol import Driver
from ...driver.records import Tip
from .log import Launch
from .watched import Slot, Watched


class Observer(Protocol):
    """Notes the operators of open captures.

    Attributes
    ----------
    name : str
    how : str
        What it does, for those who read a recording.
    cost_how : str
        What its cost holds.
    """

    name: str
    how: str
    cost_how: str

    def register(self, slots: list[tuple[str, str, Slot]]) -> None:
        """Register for operators: (namespace, name with its overload, slot) of each."""

    def close(self) -> None:
        """Take back what was registered."""

    def begin(self, watched: Watched, driver: Driver) -> None:
        """Get ready for a capture that has begun."""

    def resume(self, watched: Watched) -> None:
        """Note its operators from now on."""

    def end(self, watched: Watched) -> None:
        """Cease, and have all that was noted in `watched`; may be called again."""

    def abandon(self) -> None:
        """Take over in a forked child, before captures are ended."""

    def length(self, watched: Watched) -> int:
        """Return how much was written, as :meth:`launched` wants it."""

    def seen(self, watched: Watched) -> int:
        """Return how many operators were seen so far."""

    def launched(
        self,
        watched: Watched,
        launch: Launch,
        before: Tip,
        now: Tip,
        stream: int,
        opened: int,
        frame: FrameType | None,
    ) -> None:
        """Write the row of a launch outside of operators."""
