"""Raises in a thread, a moment later, what cannot be raised where it was caught."""

from __future__ import annotations

import ctypes
import threading
import time

MOMENT_S = 0.001
"""Long enough for a callback to return; one that is met again catches it and asks again."""


def raise_later(error: BaseException) -> None:
    """Raise an exception of this kind in the calling thread once it is back in its own code.

    Parameters
    ----------
    error : BaseException
        Such as ``KeyboardInterrupt``, caught where C called us and no exception may pass.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    kind = ctypes.py_object(type(error))

    def deliver() -> None:
        time.sleep(MOMENT_S)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, kind)

    threading.Thread(target=deliver, name="cglens", daemon=True).start()
