"""What a recorded process is asked to measure with replays of its own, once its work is done.

The parent puts it into the environment of the child; without it nothing of ours is ever replayed.
"""

from __future__ import annotations

import os

import msgspec

from .errors import WorkloadError

ENVIRONMENT = "CGLENS_MEASURE"
"""Environment variable that holds the request, as JSON."""

DEFAULT_REPLAYS = 50
MOST_REPLAYS = 10_000
DEFAULT_GRAPHS = 64
"""Graphs that are kept for measuring when none are named: each keeps its memory alive."""


EACH = "each>1%"
"""As a selection: every node by itself whose share of the replay is above one percent."""


class MeasureRequest(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What to measure, and of which graphs.

    Attributes
    ----------
    bench : bool
        Instantiate, upload, launch and replay times, and the function without a graph where we
        captured a function.
    replays : int
        Samples of each kind, at most; fewer where a replay is long.
    cold : bool
        Also replay with a cold L2.
    nodes : bool
        What every node costs: isolated and marginal.
    removals : list of (str, str)
        Replays with nodes disabled: the key of a graph, empty for every graph that is measured,
        and a selection as :func:`capture.selection.select` takes it, or :data:`EACH`.
    updates : bool
        Ask the driver which executables could be updated to which graphs. Nothing is launched.
    writes : bool
        What each node writes: graphs are run node by node, and memory is compared.
    graphs : list of str
        Keys of graphs; empty for all.
    most_graphs : int
        Graphs that are kept when `graphs` is empty.
    seconds : float
        Time budget of one graph and kind of measurement. What did not fit is said in its notes.
    unsaved : bool
        Replay also where not all memory that a graph may write can be saved: the largest blocks
        are left as replays leave them.
    traced : bool
        Whether the script's own replays are traced with CUPTI before that. It may add to the CPU
        time of launches for the rest of the process.
    """

    bench: bool = True
    replays: int = DEFAULT_REPLAYS
    cold: bool = True
    nodes: bool = False
    removals: list[tuple[str, str]] = msgspec.field(default_factory=list)
    updates: bool = False
    writes: bool = False
    graphs: list[str] = msgspec.field(default_factory=list)
    most_graphs: int = DEFAULT_GRAPHS
    seconds: float = 20.0
    unsaved: bool = False
    traced: bool = True

    @property
    def replays_wanted(self) -> bool:
        """Whether anything is to be launched."""
        return self.bench or self.nodes or bool(self.removals)

    def to_json(self) -> str:
        """Return the text for the environment."""
        return msgspec.json.encode(self).decode()

    def wants(self, key: str) -> bool:
        """Say whether a graph was asked for."""
        return not self.graphs or key in self.graphs


def from_json(text: str) -> MeasureRequest:
    """Read a request.

    Raises
    ------
    WorkloadError
        It is none.
    """
    try:
        request = msgspec.json.decode(text, type=MeasureRequest)
    except msgspec.DecodeError as error:
        raise WorkloadError(
            f"{ENVIRONMENT} holds no request to measure: {error}; it is set by cglens bench and "
            f"cglens whatif, and is best left unset otherwise"
        ) from error
    if not 1 <= request.replays <= MOST_REPLAYS:
        raise WorkloadError(
            f"{ENVIRONMENT} asks for {request.replays} replays; expected 1 to {MOST_REPLAYS:,}"
        )
    return request


def requested() -> MeasureRequest | None:
    """Return what the environment asks for, ``None`` when nothing is.

    Raises
    ------
    WorkloadError
        What is there is no request.
    """
    text = os.environ.get(ENVIRONMENT, "")
    return from_json(text) if text.strip() else None
