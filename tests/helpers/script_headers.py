"""What scripts of a zoo say of themselves: fields of their docstring, and marks at their lines."""

from __future__ import annotations

import re


def field(text: str, name: str) -> str:
    """Return a field such as ``kind: host_sync``; empty where the script has none."""
    found = re.search(rf"^{name}: (.+)$", text, re.M)
    return found.group(1).strip() if found else ""


def marked(text: str, marker: str) -> list[int]:
    """Return the lines that a marker stands at, from 1."""
    return [number for number, line in enumerate(text.splitlines(), 1) if marker in line]
