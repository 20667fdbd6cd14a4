"""What is noticed of captures beside their nodes, as observers know it; see :mod:`..noticed`."""

from __future__ import annotations

from types import FrameType
from typing import Any, Protocol

from ..model import Graph
from ..noticed import Noticed


class Noticing(Protocol):
    """One capture, between its begin and its end."""

    found: Noticed

    def stop(self) -> None:
        """End: nothing that happens later is noticed."""


class Notices(Protocol):
    """What one process notices; torch's side of it is :mod:`.torch_notices`."""

    def begin(self) -> Noticing:
        """Begin with a capture of this thread."""

    def find_owners(
        self,
        noticing: Noticing,
        graph: Graph,
        holder: Any,
        serial: int,
        state: Any,
    ) -> None:
        """Find who owns what a graph uses on the host, and watch them."""

    def taken(self, serial: int, frame: FrameType | None) -> None:
        """Note that the script took the handle of an executable."""

    def later(self, serials: set[int]) -> dict[int, dict[str, Any]]:
        """Return what became of graphs, as documents by their serial."""

    def abandon(self) -> None:
        """Forget everything, in a forked child."""
