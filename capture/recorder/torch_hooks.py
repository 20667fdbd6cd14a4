"""Methods of ``torch.cuda.graphs.CUDAGraph``, patched so that a session hears of every call.

``torch.cuda.graph``, ``make_graphed_callables`` and the compiler's graph trees all go through
this Python class. What calls ``torch._C._CUDAGraph`` directly is not seen.

A hook calls the original with what it was given and hands on its result or its exception. What
fails in a hook's own work becomes a warning in the recording.
"""

from __future__ import annotations

import functools
from types import ModuleType

from . import torch_capture_hooks, torch_replay_hooks
from .session import Session
from .torch_capture_hooks import Method


class TorchHooks:
    """The patched methods of one class, so that they can be put back.

    Parameters
    ----------
    session : Session
    module : module
        ``torch.cuda.graphs``.
    """

    def __init__(self, session: Session, module: ModuleType) -> None:
        self.session = session
        self._class: type = module.CUDAGraph
        self._originals: dict[str, Method] = {}
        self._hooks: dict[str, Method] = {}

    def install(self) -> None:
        """Patch the class."""
        for name, make in (torch_capture_hooks.HOOKS | torch_replay_hooks.HOOKS).items():
            original = getattr(self._class, name, None)
            if original is None:  # torch before 2.8 has no instantiate
                continue
            hook = functools.wraps(original)(make(self.session, original))
            self._originals[name] = self._class.__dict__.get(name, _INHERITED)
            self._hooks[name] = hook
            setattr(self._class, name, hook)

    def remove(self) -> None:
        """Put the original methods back, except where somebody else patched on top of ours."""
        for name, hook in self._hooks.items():
            if self._class.__dict__.get(name) is not hook:
                continue
            original = self._originals[name]
            if original is _INHERITED:
                delattr(self._class, name)
            else:
                setattr(self._class, name, original)
        self._hooks.clear()


def _INHERITED() -> None:  # noqa: N802 - a constant that has the type of a method
    """Stand for a method that the class itself does not define."""
