"""Functions in C that the observer in C++ is given: torch's, the driver's, or ones of Python."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from threading import get_ident
from typing import Any

from ..driver.protocol import Driver
from ..driver.records import NOT_CAPTURING, Tip
from .torch_native_build import Unavailable

_CURRENT = "_ZN3c104cuda20getCurrentCUDAStreamEa"
_HANDLE = "_ZNK3c104cuda10CUDAStream6streamEv"
_P = ctypes.c_void_p
_INFO = ctypes.CFUNCTYPE(
    ctypes.c_int, _P, ctypes.POINTER(ctypes.c_int), _P, _P, ctypes.POINTER(_P), _P, _P
)
_STREAM = ctypes.CFUNCTYPE(ctypes.c_uint64)
_kept: list[Any] = []
"""What C++ may call as long as the process lives."""


def stream_functions(torch: Any) -> tuple[int, int]:
    """Return the addresses of what tells a thread's current stream, and a stream's handle.

    They are those of :mod:`torch.cuda`'s library, which needs CUDA's headers to be called by name.

    Raises
    ------
    Unavailable
        This torch has none.
    """
    path = Path(torch.__file__).parent / "lib" / "libc10_cuda.so"
    try:
        # Loaded already: this only looks it up.
        library = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        return _address(library[_CURRENT]), _address(library[_HANDLE])
    except (OSError, AttributeError) as error:
        raise Unavailable(f"torch's current stream cannot be asked for: {error}") from error


def as_stream_function(current_stream: Callable[[], int]) -> int:
    """Return the address of a function in C that tells what one in Python does."""
    function = _STREAM(current_stream)
    _kept.append(function)
    return _address(function)


def as_capture_info(driver: Driver) -> int:
    """Return the address of a ``cuStreamGetCaptureInfo`` that a driver in Python answers."""
    function = _INFO(_asking(driver))
    _kept.append((driver, function))
    return _address(function)


def _address(function: Any) -> int:
    return ctypes.cast(function, _P).value or 0


def _asking(driver: Driver) -> Callable[..., int]:
    """Return ``cuStreamGetCaptureInfo``, answered by a driver in Python."""
    tips: dict[tuple[int, int], Callable[[], Tip]] = {}
    answers: dict[int, Any] = {}

    def info(
        stream: int | None, status: Any, id_: int, graph: int, nodes: Any, edges: int, count: int
    ) -> int:
        handle, thread = stream or 0, get_ident()
        if id_:
            about = driver.capture_info(handle)
            status[0] = about.status
            ctypes.c_uint64.from_address(id_).value = about.id
            return 0
        tip = tips.get((thread, handle))
        if tip is None:
            tip = tips[thread, handle] = driver.capture_tip(handle)
        found = tip()
        status[0] = 0 if found == NOT_CAPTURING else 1
        handles = found if isinstance(found, tuple) else (found,) if found else ()
        # The caller reads it before it asks again.
        answer = answers[thread] = (ctypes.c_uint64 * len(handles))(*handles)
        nodes[0] = ctypes.addressof(answer)
        ctypes.c_size_t.from_address(count).value = len(handles)
        return 0

    return info
