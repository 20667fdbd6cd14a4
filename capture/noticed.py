"""What a recorder noticed of one capture beside its nodes: calls inside it, and owners on the host.

Kept with the graph (``GraphInfo.extra["noticed"]``), so that older recordings simply have none.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .model import GraphInfo, Place

FIELD, LATER = "noticed", "noticed_later"
"""Names in a graph's extra facts: what was noticed at the capture's end, and what came after."""

RECORD_STREAM = "record_stream"
HOST_RANDOM = "random numbers of the host"
SEEDS = "seeds of Triton kernels"
HOST_OWNERS = "owners of host memory and functions"


class RecordedStream(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Calls of ``Tensor.record_stream`` from one line."""

    stream: str = ""
    """Handle of the stream that was recorded, as hexadecimal text."""
    size_bytes: int = 0
    """Of the storages, together."""
    times: int = 1
    place: Place | None = None


class ConstantSeed(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A launch of a Triton kernel whose random numbers depend on constants alone."""

    kernel: str
    launch: int = 0
    """Which launch of this kernel in the capture, from 0."""
    parameter: str = ""
    value: int | float = 0
    place: Place | None = None


class HostOwner(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Who keeps host memory, or a function, that nodes of the graph use."""

    kind: str
    """``"function"`` or ``"memory"``."""
    address: int
    """Of the function, or where the owner's memory begins."""
    through: int = 0
    """User data through which a library's function calls this one; 0 where CUDA itself does."""
    data_gone: bool = False
    """Whether the user data no longer named the function at the end."""
    size_bytes: int = 0
    owner: str = ""
    """For people; empty where nobody was found when the capture had ended."""
    gone: bool = False
    """Whether the owner died while the graph was still there."""
    gone_at: Place | None = None
    """The line that was running then."""
    replays_before: int = 0
    """Replays until then."""
    replays_after: int = 0
    """Replays since then."""


class Noticed(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What was noticed of one capture.

    Attributes
    ----------
    watched : list of str
        What was watched, such as :data:`RECORD_STREAM`; what is not named is not known.
    missing : dict of str to str
        Why something was not watched.
    record_streams : list of RecordedStream
    host_random : list of str
        Generators of the host from which numbers were drawn inside the capture.
    seeds : list of ConstantSeed
    launches : dict of str to int
        How often each kernel of `seeds` was launched in the capture.
    executable_taken : Place or None
        Where the script took the handle of the executable, to launch it without torch.
    owners : list of HostOwner
    """

    watched: list[str] = msgspec.field(default_factory=list)
    missing: dict[str, str] = msgspec.field(default_factory=dict)
    record_streams: list[RecordedStream] = msgspec.field(default_factory=list)
    host_random: list[str] = msgspec.field(default_factory=list)
    seeds: list[ConstantSeed] = msgspec.field(default_factory=list)
    launches: dict[str, int] = msgspec.field(default_factory=dict)
    executable_taken: Place | None = None
    owners: list[HostOwner] = msgspec.field(default_factory=list)

    def unknown(self, what: str) -> str:
        """Return why something was not watched; empty where it was."""
        if what in self.watched:
            return ""
        return self.missing.get(what, f"the recorder did not watch {what} in this capture")


class Later(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What became of a graph after its capture, as far as a recorder noticed.

    Attributes
    ----------
    executable_taken : Place or None
    owners : list of HostOwner
        Those that are gone, in place of what stands in :class:`Noticed`.
    """

    executable_taken: Place | None = None
    owners: list[HostOwner] = msgspec.field(default_factory=list)


def noticed_in(info: GraphInfo | None) -> Noticed | None:
    """Return what was noticed of a graph, with what came after; ``None`` where nothing is known.

    What another version wrote and this one does not understand counts as not known.
    """
    if info is None:
        return None
    found: Noticed | None = _read(info.extra.get(FIELD), Noticed)
    if found is None:
        return None
    later: Later | None = _read(info.extra.get(LATER), Later)
    if later is not None:
        gone = {(owner.kind, owner.address, owner.through): owner for owner in later.owners}
        found.owners = [
            gone.get((item.kind, item.address, item.through), item) for item in found.owners
        ]
        found.executable_taken = later.executable_taken
    return found


def _read(value: object, kind: type[Any]) -> Any:
    if not isinstance(value, dict):
        return None
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None
