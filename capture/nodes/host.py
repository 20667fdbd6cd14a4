"""Host functions."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import msgspec

from .base import Category, NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reader import Reader


class HostPayload(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A call of a function on the host."""

    function_address: int | None = None
    symbol: str = ""
    """Name of the function, where the dynamic linker knows it."""
    library: str = ""
    user_data_address: int | None = None


class _DlInfo(ctypes.Structure):
    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def decode(reader: Reader, handles: Sequence[int]) -> list[HostPayload | None]:
    """Read ``cuGraphHostNodeGetParams`` of every node, and the function's symbol."""
    with reader.phase("host functions"):
        found = reader.values(reader.driver.host_functions(handles), handles)
        names = {pair[0]: symbol_of(pair[0]) for pair in found if pair is not None}
    return [
        None
        if pair is None
        else HostPayload(
            function_address=pair[0],
            symbol=names[pair[0]][0],
            library=names[pair[0]][1],
            user_data_address=pair[1],
        )
        for pair in found
    ]


def symbol_of(address: int) -> tuple[str, str]:
    """Return (symbol, library) of a function's address in this process.

    Both are empty where the dynamic linker does not know: ``dladdr`` knows exported functions
    and mapped files. The symbol is given only when it starts at the address; the library alone
    says where other code lives.
    """
    try:
        dladdr = ctypes.CDLL(None).dladdr
    except (AttributeError, OSError, TypeError):
        return "", ""
    dladdr.argtypes = (ctypes.c_void_p, ctypes.POINTER(_DlInfo))
    info = _DlInfo()
    if not dladdr(address, ctypes.byref(info)):
        return "", ""
    symbol = info.symbol if info.address == address else None
    return (symbol or b"").decode(errors="replace"), (info.file or b"").decode(errors="replace")


def label(payload: HostPayload | None) -> str:
    """Return the function's symbol where it is known."""
    return (payload.symbol if payload is not None else "") or "host function"


NODE_TYPE = NodeType(
    name="host",
    number=3,
    category=Category.HOST,
    payload=HostPayload,
    label=label,
    decode=decode,
    dot_names=("HOST",),
    description="calls a function on the CPU",
)
