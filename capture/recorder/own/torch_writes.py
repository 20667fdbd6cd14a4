"""Runs every kept graph node by node, to see what each node writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...benchmarks import Benchmark
from ...codec import dump
from ...errors import DriverError, GraphLensError
from ...memory.addresses import COMMON_POOL, blocks_of, temporaries_of
from ...writes import Writes
from ..torch_allocator import memory_segments
from .saved_state import Region
from .setup import Budget
from .stopwatch import HungError
from .torch_changes import comparing
from .torch_keep import Keeper, Kept
from .torch_prepare import on_device, ready
from .writes import measure, watchable

DIED = "the process died while the graph was run node by node"


def watch(
    keeper: Keeper,
    driver: Any,
    write: Callable[..., None],
    tell: Callable[[str], None],
) -> str:
    """Measure what nodes write, graph by graph, and write it.

    Parameters
    ----------
    keeper : Keeper
    driver : ReplayDriver
    write : callable
        ``write(kind, serial, **fields)`` appends to every journal.
    tell : callable
        Says a line to the user.

    Returns
    -------
    str
        Why the process cannot go on: a node hangs. Empty when all is well.
    """
    for serial, why in keeper.left_out:
        write("writes_absent", serial, text=why)
    stopped = hung = ""
    for number, kept in enumerate(keeper.kept, start=1):
        found = Writes(graph=kept.key, refused=kept.refused or stopped)
        if not found.refused:
            tell(
                f"running graph {number} of {len(keeper.kept)} node by node: {kept.name} "
                f"({len(kept.graph)} nodes)"
            )
            write("writes", kept.serial, document=dump(Writes(graph=kept.key, refused=DIED)))
            try:
                with on_device(kept.device):
                    _of_graph(keeper, driver, kept, found)
            except HungError as error:
                hung = stopped = f"running {kept.key} node by node stopped: {error}"
            except Exception as error:
                stopped = _stopped(driver, kept, error)
                found.refused = found.refused or f"{type(error).__name__}: {error}"
            found.refused = found.refused or hung
        write("writes", kept.serial, document=dump(found))
    return hung


def _stopped(driver: Any, kept: Kept, error: Exception) -> str:
    """Say why no other graph is run: empty where the device is well."""
    try:
        driver.synchronize_device()
    except DriverError as sticky:
        return f"running {kept.key} node by node left the device in an error ({sticky})"
    except GraphLensError:
        return str(error)
    return ""


def _of_graph(keeper: Keeper, driver: Any, kept: Kept, found: Writes) -> None:
    told = Benchmark(graph=kept.key)
    with ready(driver, kept, told, partly=keeper.request.unsaved) as setup:
        if setup is None:
            found.refused = told.refused
            return
        segments = memory_segments()
        measure(
            setup,
            found,
            watchable(setup),
            Budget(keeper.request.seconds),
            temporaries={Region(*block) for block in temporaries_of(segments, kept.device)},
            outputs=_allocated(segments, kept),
            comparing=comparing,
        )
    found.notes += told.notes


def _allocated(segments: list[dict[str, Any]], kept: Kept) -> set[Region]:
    """Return the blocks in use of the graph's own pool."""
    if kept.pool is None or kept.pool == COMMON_POOL:
        return set()
    own = [one for one in segments if tuple(one.get("segment_pool_id", ())) == kept.pool]
    free = temporaries_of(own, kept.device)
    return {Region(*block) for block in blocks_of(own, kept.device).blocks if block not in free}
