"""Stands in for cuda-bindings: finds C functions that answer from a fake driver.

``NO_DRIVER=1`` in the environment makes it answer as on a machine without one.
"""

from __future__ import annotations

import os
import sys
import threading
from types import ModuleType
from typing import Any


class DynamicLibNotFoundError(RuntimeError):
    """As cuda-pathfinder raises it."""


def _helpers() -> tuple[Any, Any]:
    """Import the fakes, which import ``capture``, where that name may be the user's."""
    private = sys.modules.get("_cudagraph_lens_capture")
    if private is None:
        from tests.helpers.c_functions import CFunctions
        from tests.helpers.fake_driver import FakeDriver

        return FakeDriver(), CFunctions
    set_aside: dict[str, ModuleType] = {}
    for name in list(sys.modules):
        if name == "capture" or name.startswith("capture."):
            set_aside[name] = sys.modules.pop(name)
    for name, module in list(sys.modules.items()):
        if name == private.__name__ or name.startswith(private.__name__ + "."):
            sys.modules["capture" + name[len(private.__name__) :]] = module
    try:
        from tests.helpers.c_functions import CFunctions
        from tests.helpers.fake_driver import FakeDriver

        return FakeDriver(), CFunctions
    finally:
        for name in list(sys.modules):
            if name == "capture" or name.startswith("capture."):
                del sys.modules[name]
        sys.modules.update(set_aside)


_lock = threading.RLock()
fake: Any = None
_functions: Any = None


def world() -> Any:
    """Return the fake driver of this process."""
    global fake, _functions
    with _lock:
        if fake is None:
            made, functions = _helpers()
            _functions = functions(made)
            fake = made
    return fake


def cuInit(flags: int) -> tuple[int]:  # noqa: N802
    """Initialise, or say that there is no driver."""
    if os.environ.get("NO_DRIVER"):
        raise DynamicLibNotFoundError("libcuda.so.1")
    world()
    return (0,)


def cuGetProcAddress(name: bytes, version: int, flags: int) -> tuple[int, int]:  # noqa: N802
    """Return the address of a function, 0 for one that the driver lacks."""
    world()
    return 0, _functions.find(name.decode(), version)
