"""Environment variables that tell the recorder how much of origins to keep."""

from __future__ import annotations

import os

ORIGINS = "CGLENS_ORIGINS"
"""Switches origins off with ``0``."""
SOURCES = "CGLENS_SOURCES"
"""Has the text of source files stored with ``1``."""
OBSERVER = "CGLENS_OBSERVER"
"""Which observer of operators to use: ``native`` or ``python``; the quicker one that works here
where it is not set."""
NATIVE_CACHE = "CGLENS_NATIVE_CACHE"
"""Folder for what is compiled, in place of the user's cache folder."""


def wants_native() -> bool:
    """Say whether the observer in C++ is to be tried."""
    return os.environ.get(OBSERVER, "") != "python"
