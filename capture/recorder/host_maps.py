"""Which addresses are ordinary memory of this process, as the system says.

cuBLAS, for one, passes kernels the addresses of scalars on the host's stack, also where the kernel
takes their values by another argument. CUDA knows nothing of such memory, and it is not freed.
"""

from __future__ import annotations

from bisect import bisect_right
from time import monotonic_ns

PAGE_BYTES = 4096
KEPT_NS = 10_000_000_000
"""How long what the system said is taken for true: asking takes milliseconds."""
MAPS = "/proc/self/maps"


class HostMaps:
    """Private readable and writable mappings of this process; none where the system tells none."""

    def __init__(self, path: str = MAPS) -> None:
        self._path = path
        self._read_ns: int | None = None
        self._starts: list[int] = []
        self._ends: list[int] = []

    def hold(self, address: int) -> bool:
        """Say whether an address is ordinary memory."""
        now = monotonic_ns()
        if self._read_ns is None or now - self._read_ns > KEPT_NS:
            self._read_ns = now
            self._read()
        at = bisect_right(self._starts, address) - 1
        return at >= 0 and address < self._ends[at]

    def _read(self) -> None:
        self._starts, self._ends = [], []
        try:
            with open(self._path, encoding="ascii", errors="replace") as stream:
                for line in stream:
                    span, permissions = line.split(" ", 2)[:2]
                    # What CUDA reserves for devices is not accessible, or shared with its driver.
                    if permissions == "rw-p":
                        start, _, end = span.partition("-")
                        self._starts.append(int(start, 16))
                        self._ends.append(int(end, 16))
        except (OSError, ValueError):
            return


HOST_MAPS = HostMaps()
