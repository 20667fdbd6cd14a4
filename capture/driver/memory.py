"""The memory of this process, read by address.

The driver hands out pointers into its own structures. Reading a few bytes through a C call costs
several times as much as a slice of one buffer that spans everything, so that is what this is.
Nothing is touched until it is read; an address that is not mapped ends the process, as in C.
"""

from __future__ import annotations

import ctypes
from typing import cast

# A ctypes array of characters reads like bytes.
MEMORY = cast(bytes, (ctypes.c_char * ((1 << 63) - 1)).from_address(0))
"""``MEMORY[a:b]`` is the bytes from address `a` to `b`; ``unpack_from(MEMORY, a)`` works too."""
