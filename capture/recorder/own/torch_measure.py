"""Measures every kept graph, at the end of the process that captured it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from time import perf_counter_ns as clock
from typing import Any

from ...errors import GraphLensError
from .removals import traced_shares
from .torch_keep import Keeper
from .torch_passes import Measurement


def tell(line: str) -> None:
    """Say a line on standard error."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"cglens: {line}\n")
        sys.stderr.flush()


def measure(session: Any) -> str:
    """Measure what a session kept, and let go of it.

    Parameters
    ----------
    session : Session

    Returns
    -------
    str
        Why the process cannot go on: a replay of ours hangs. Empty when all is well.
    """
    keeper, session.keeper = session.keeper, None
    if keeper is None or not (keeper.kept or keeper.left_out):
        return ""
    start = clock()
    session.muted = True
    try:
        found = _measure(session, keeper)
    finally:
        session.muted = False
        session.add_cost("measure", keeper.cost_ns + clock() - start)
    return found


def _measure(session: Any, keeper: Keeper) -> str:
    def write(kind: str, serial: int, **fields: Any) -> None:
        for sink in session.sinks:
            sink.write(kind, serial, **fields)

    why = _not_now()
    driver = None
    if not why:
        try:
            driver = session.driver()
            driver.synchronize_device()
        except GraphLensError as error:
            why = f"the workload left CUDA in an error: {error}"
    if why or driver is None:
        for kept in keeper.kept:
            write("benchmarks_absent", kept.serial, text=f"nothing was measured: {why}")
            if keeper.request.updates:
                write("updates_absent", kept.serial, text=f"the driver was not asked: {why}")
            if keeper.request.writes:
                write("writes_absent", kept.serial, text=f"nothing was replayed: {why}")
        return ""
    cupti = session.tracer is not None and session.tracer.open
    traced = session.stop_tracing()

    def shares_of(serial: int) -> Mapping[int, float]:
        timings = traced.get(serial)
        return traced_shares(timings) if timings is not None else {}

    if keeper.request.updates:
        from .torch_updates import ask

        ask(keeper, driver, write, tell)
    hung = ""
    if keeper.request.replays_wanted:
        measurement = Measurement(keeper, driver, write, shares_of, tell, cupti or bool(traced))
        measurement.run()
        hung = measurement.hung
    if keeper.request.writes and not hung:
        from .torch_writes import watch

        hung = watch(keeper, driver, write, tell)
    return hung


def _not_now() -> str:
    """Say why a process that ended like this one is not to be kept waiting."""
    import threading

    if isinstance(getattr(sys, "last_value", None), KeyboardInterrupt):
        return "the script was interrupted"
    if threading.current_thread() is not threading.main_thread():
        return "the process did not end on its main thread"
    return ""
