"""Environment variables that tell the recorder how much of origins to keep."""

from __future__ import annotations

ORIGINS = "CGLENS_ORIGINS"
"""Switches origins off with ``0``."""
SOURCES = "CGLENS_SOURCES"
"""Has the text of source files stored with ``1``."""
