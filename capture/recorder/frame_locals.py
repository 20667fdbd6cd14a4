"""Variables of somebody else's frame, read without a trace.

``frame.f_locals`` of a function makes a snapshot that stays with the frame on Python before 3.13:
it keeps objects alive after the variable was bound anew, so that a ``CUDAGraph`` would be
destroyed in the middle of the next capture, which invalidates it; and it is the very dictionary
that an earlier ``locals()`` gave the user. Python 3.12 and newer read one variable without it; for
3.11, whose frames no longer change, the variable is read where the interpreter keeps it.
"""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from inspect import CO_OPTIMIZED
from types import CellType, CodeType, FrameType
from typing import Any

# CPython 3.11, 64 bits: PyFrameObject.f_frame, then _PyInterpreterFrame's f_code and localsplus.
_FRAME, _CODE, _LOCALS = 24, 32, 72


def variable(frame: FrameType, name: str) -> Any:
    """Return a variable's value; ``None`` when it is not bound or cannot be read."""
    code = frame.f_code
    if not code.co_flags & CO_OPTIMIZED:
        # A module's or a class body's own namespace: no snapshot is made.
        return frame.f_locals.get(name)
    if name not in code.co_varnames + code.co_cellvars + code.co_freevars:
        return None
    if sys.version_info >= (3, 12):
        get = ctypes.pythonapi.PyFrame_GetVarString
        get.argtypes = (ctypes.py_object, ctypes.c_char_p)
        get.restype = ctypes.py_object
        try:
            return get(frame, name.encode())
        except NameError:
            return None
    return _variable_of_3_11(frame, name)


def _variable_of_3_11(frame: FrameType, name: str) -> Any:
    code = frame.f_code
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    inner = _pointer(id(frame) + _FRAME)
    if not inner or _pointer(inner + _CODE) != id(code):  # not the layout that we know
        return None
    address = _pointer(inner + _LOCALS + 8 * _place(code, name))
    if not address:
        return None
    value = ctypes.cast(address, ctypes.py_object).value
    if isinstance(value, CellType):
        try:
            return value.cell_contents
        except ValueError:
            return None
    return value


@lru_cache(maxsize=256)
def _place(code: CodeType, name: str) -> int:
    cells = [cell for cell in code.co_cellvars if cell not in code.co_varnames]
    return [*code.co_varnames, *cells, *code.co_freevars].index(name)


def _pointer(address: int) -> int:
    return ctypes.c_void_p.from_address(address).value or 0
