"""What observers know of the recording of origins; torch's side of it is ``torch_origins*.py``."""

from __future__ import annotations

from types import FrameType
from typing import Protocol

from ...driver.protocol import Driver
from ...model import LeftOut
from ...origins import Origins
from .stacks import Place


class CaptureOrigins(Protocol):
    """What is noted of one capture."""

    @property
    def cost_ns(self) -> int:
        """What noting it cost so far."""

    def stop(self) -> None:
        """Stop noting; may be called again."""

    def resume(self) -> None:
        """Go on, in a capture that was not ended after all."""

    def broke_in(self) -> str:
        """Return the operator in which the capture became invalid; empty when none was seen."""

    def outside(self) -> str:
        """Return the operator that CUDA refused on a stream which is not part of the capture."""

    def left_out(self) -> list[LeftOut]:
        """Return operators that were called on streams which are not part of the capture."""

    def last_op(self) -> tuple[str, list[Place], str, str]:
        """Return (operator, stack, thread, stream) of what broke the capture, or ran last."""

    def clock(self, handles: list[int]) -> list[tuple[int, int]]:
        """Return (Unix time in us, nodes made until then) after each operator, if that was noted.

        `handles` are those of the outermost level.
        """

    def build(self, key: str, handles: list[int]) -> Origins:
        """Return the origins of every node, from the handles of the outermost level."""


class OriginSource(Protocol):
    """Starts noting where nodes come from."""

    reason: str

    def prepare(self) -> None:
        """Do what takes long, before a capture begins."""

    def abandon(self) -> None:
        """Watch nothing any more, in a forked child."""

    def begin(self, driver: Driver, stream: int, frame: FrameType | None) -> CaptureOrigins | None:
        """Start with the capture that has begun on a stream."""
