"""Functions of a script that a library's own function calls, named by the node's user data.

cuda.bindings does not hand a callback to CUDA: it hands over a function of its own, which takes
Python's lock, and as user data an allocation that begins with the callback's address. Read when the
capture has ended, before anything was called, while that allocation is surely there.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from pathlib import PurePath

from ..nodes.host import HostPayload, symbol_of

WORD_BYTES = 8
MEMORY = "/proc/self/mem"


def wrapped(payload: HostPayload) -> int:
    """Return the address of the function behind a function of cuda.bindings; 0 for none."""
    data = payload.user_data_address
    if not data or not is_bindings(payload.library):
        return 0
    address = word_at(data)
    # What lies in a library stays, and is no callback of Python's.
    return 0 if not address or symbol_of(address) != ("", "") else address


def is_bindings(library: str) -> bool:
    """Say whether a library belongs to cuda.bindings."""
    parts = PurePath(library).parts
    return ("cuda", "bindings") in pairwise(parts)


def word_at(address: int) -> int:
    """Return a word of this process's memory; 0 where the system does not let it be read.

    Through the system, so that an address that leads nowhere is an answer and no crash.
    """
    try:
        file = os.open(MEMORY, os.O_RDONLY)
    except OSError:
        return 0
    try:
        found = os.pread(file, WORD_BYTES, address)
    except (OSError, OverflowError):
        return 0
    finally:
        os.close(file)
    return int.from_bytes(found, sys.byteorder) if len(found) == WORD_BYTES else 0
