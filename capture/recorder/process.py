"""The one recorder of this process: started by the environment, or by ``record()``."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import locate_request
from ..errors import GraphLensError
from ..measure_request import requested
from .compiler_watch import CompilerWatch
from .driver_source import open_driver
from .journal import FileJournal
from .session import Session
from .sink import Sink
from .torch_facts import describe
from .torch_hooks import TorchHooks
from .torch_memory import MemorySource
from .torch_notices import NOTICES
from .torch_origins_capture import OriginSource
from .torch_origins_compiled import COMPILATIONS
from .torch_trace import ReplayTracer
from .trace_budget import traced_replays

HUNG_EXIT_CODE = 75
"""Of a process in which a replay of ours does not end."""

UNTRACED = (
    "CUPTI was left out of this process, because CPU times of launches were to be measured and a "
    "profiler may add to them; cglens record and cglens whatif trace replays"
)

_session: Session | None = None
_hooks: TorchHooks | None = None
_environment_sink: Sink | None = None


def session() -> Session:
    """Return this process's session, made when first asked for."""
    global _session
    if _session is None:
        _session = Session(open_driver, describe, _make_tracer)
        _session.origin_source = OriginSource()
        _session.memory_source = MemorySource()
        _session.compiler = CompilerWatch()
        _session.notices = NOTICES
        os.register_at_fork(after_in_child=_session.forked)
        _follow_multiprocessing(_session)
        atexit.register(_at_exit, _session)
    return _session


def _make_tracer(capturing: Callable[[], bool], relaxed: Callable[[], Any]) -> ReplayTracer:
    tracer = ReplayTracer(traced_replays(), capturing, relaxed)
    with suppress(GraphLensError):  # a request that is none is said where it is read
        request = requested()
        if request is not None and not request.traced:
            tracer.reason = UNTRACED
    return tracer


def hook(module: ModuleType) -> Session:
    """Patch torch's graph class, once; return the session that hears of it."""
    global _hooks
    current = session()
    if _hooks is None:
        if isinstance(current.origin_source, OriginSource):
            current.origin_source.loaded(sys.modules.get("torch"))
        _hooks = TorchHooks(current, module)
        _hooks.install()
        if current.locator is not None:
            from .own.torch_locate import stand_at_replays

            stand_at_replays(current, module)
    return current


def unhook() -> None:
    """Put torch's methods back when nobody records any more."""
    global _hooks
    if _hooks is not None and _session is not None and not _session.active:
        _hooks.remove()
        _hooks = None
        COMPILATIONS.stop()


def start(folder: str, module: ModuleType | None) -> Session:
    """Record this process into a folder, until it ends.

    Parameters
    ----------
    folder : str
        Of the recording, made by the parent.
    module : module or None
        ``torch.cuda.graphs``; ``None`` while torch has not been imported.
    """
    global _environment_sink
    current = session()
    if _environment_sink is None:
        _environment_sink = Sink(FileJournal(Path(folder)))
        current.add(_environment_sink)
        _keep_for_measuring(current)
        _stand_at_replays(current)
    if module is not None:
        hook(module)
    return current


def _keep_for_measuring(current: Session) -> None:
    """Keep graphs for replays of our own, where the environment asks for those."""
    try:
        request = requested()
    except GraphLensError as error:
        current.complain("measuring", error)
        return
    if request is not None:
        from .own.torch_keep import Keeper

        current.keeper = Keeper(request, current.complain)


def _stand_at_replays(current: Session) -> None:
    """Have parts of a graph run in place of a replay, where the environment asks for that."""
    try:
        request = locate_request.requested()
    except GraphLensError as error:
        current.complain("locating", error)
        return
    if request is not None:
        from .own.torch_locate import make_locator

        current.locator = make_locator(request)


def _follow_multiprocessing(current: Session) -> None:
    # Forked workers of multiprocessing leave by os._exit after running its finalizers only.
    try:
        from multiprocessing import util
    except ImportError:
        return

    def in_worker(recorder: Session) -> None:
        util.Finalize(None, recorder.finish, exitpriority=-1_000)

    util.register_after_fork(current, in_worker)


def _at_exit(current: Session) -> None:
    sinks = list(current.sinks)
    hung = _measure(current)
    try:
        current.finish()
    except Exception as error:
        current.complain("end of the process", error)
    for sink in sinks:
        journal = sink.journal
        folder = getattr(journal, "folder", None)
        if journal.broken and folder is not None and folder.is_dir():
            sys.stderr.write(
                f"cglens: the recording stopped early: {journal.broken}; "
                f"what was recorded until then is kept\n"
            )
    if hung:
        # A kernel that never ends keeps every other way out waiting.
        sys.stderr.write(f"cglens: leaving at once: {hung}\n")
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(HUNG_EXIT_CODE)


def _measure(current: Session) -> str:
    """Replay what was kept for measuring; return why the process cannot go on, or nothing."""
    if current.keeper is None:
        return ""
    try:
        from .own.torch_measure import measure

        return measure(current)
    except KeyboardInterrupt:
        return ""
    except Exception as error:
        current.complain("measuring", error)
        return ""
