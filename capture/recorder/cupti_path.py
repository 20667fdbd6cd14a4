"""Where the ``libcupti`` of this process is."""

from __future__ import annotations

import sys
from pathlib import Path


def find_library() -> Path | None:
    """Return the ``libcupti`` that this process has loaded, or that torch would load."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        maps = ""
    for line in maps.splitlines():
        fields = line.split(maxsplit=5)  # the path comes last, and may have spaces
        if "/libcupti.so" in fields[-1]:
            return Path(fields[-1])
    for base in sys.path:
        for pattern in ("nvidia/cu*/lib/libcupti.so.*", "nvidia/cuda_cupti/lib/libcupti.so.*"):
            for path_ in sorted(Path(base or ".").glob(pattern)):
                return path_
    return None
