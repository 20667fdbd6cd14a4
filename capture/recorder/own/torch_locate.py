"""torch's side of standing at replays: its replay method, its current stream."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from ...locate_request import OF_VALUES, Answer, LocateRequest
from ..import_watch import after_import
from ..open_capture import OpenCapture
from .locator import Locator
from .target import Target
from .waiting import Waiting


def make_locator(request: LocateRequest) -> Locator:
    """Return what answers a request in this process."""
    found = Locator(request)
    if request.step == "observe" and request.symptom in OF_VALUES:
        found.after_replay = _Later(request.symptom)
    elif request.step in ("values", "eager"):
        found.make_log = _log
        found.works["values"] = functools.partial(_values, found)
        found.works["eager"] = _LaterEager(found)
    return found


class _Later:
    """Looks for NaN, from the first replay on: before, torch may not be imported."""

    def __init__(self, symptom: str) -> None:
        self._symptom = symptom
        self._watch: Any = None

    def __call__(self, target: Target, answer: Answer) -> None:
        from .torch_values import Watch

        self._watch = self._watch or Watch(self._symptom)
        self._watch(target, answer)


class _LaterEager:
    """Compares with eager, from the first replay on."""

    def __init__(self, locator: Locator) -> None:
        self._locator = locator
        self._work: Any = None

    def __call__(self, waiting: Waiting, target: Target) -> None:
        from .torch_against_eager import AgainstEager

        self._work = self._work or AgainstEager(self._locator)
        self._work(waiting, target)


def _values(locator: Locator, waiting: Waiting, target: Target) -> None:
    from .torch_values import find

    find(locator, waiting, target)


def _log(driver: Any, capture: OpenCapture) -> Any:
    from .torch_op_log import OperatorLog

    log = OperatorLog(lambda: len(driver.nodes(capture.handle)))
    log.start()
    return log


def _hear_compiled(session: Any) -> None:
    """Hear of compiled code's allocations, as soon as torch is there."""

    def hear() -> None:
        try:
            from .torch_op_log import OperatorLog

            OperatorLog.watch_compiled()
        except Exception as error:
            session.complain("tensors of compiled code", error)

    after_import("torch._inductor.codecache", hear)


def stand_at_replays(session: Any, module: ModuleType) -> None:
    """Patch the replay method of torch's graph class, on top of the recorder's hook.

    Parameters
    ----------
    session : Session
        Whose locator is asked.
    module : module
        ``torch.cuda.graphs``.
    """
    if session.locator is not None and session.locator.make_log is not None:
        _hear_compiled(session)
    graph_class: Any = module.CUDAGraph  # type: ignore[attr-defined, unused-ignore]
    hooked = graph_class.replay

    @functools.wraps(hooked)
    def replay(self: Any, *args: Any, **kwargs: Any) -> Any:
        original = functools.partial(hooked, self, *args, **kwargs)
        locator = session.locator
        if locator is None or not session.active:
            return original()
        import torch

        try:
            driver = session.driver()
            stream = int(torch.cuda.current_stream().cuda_stream)
        except Exception as error:
            session.complain("standing at a replay", error)
            return original()
        return locator.replaying(driver, self, stream, original)

    graph_class.replay = replay
