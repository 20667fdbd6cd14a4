"""torch's side of standing at replays: its replay method, its current stream."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from ...locate_request import LocateRequest
from .locator import Locator


def make_locator(request: LocateRequest) -> Locator:
    """Return what answers a request in this process."""
    return Locator(request)


def stand_at_replays(session: Any, module: ModuleType) -> None:
    """Patch the replay method of torch's graph class, on top of the recorder's hook.

    Parameters
    ----------
    session : Session
        Whose locator is asked.
    module : module
        ``torch.cuda.graphs``.
    """
    graph_class: Any = module.CUDAGraph  # type: ignore[attr-defined, unused-ignore]
    hooked = graph_class.replay

    @functools.wraps(hooked)
    def replay(self: Any, *args: Any, **kwargs: Any) -> Any:
        original = functools.partial(hooked, self, *args, **kwargs)
        locator = session.locator
        if locator is None or not session.active:
            return original()
        import torch

        stream = int(torch.cuda.current_stream().cuda_stream)
        return locator.replaying(session.driver(), self, stream, original)

    graph_class.replay = replay
