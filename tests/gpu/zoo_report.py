"""The committed report of a zoo: an entry per script, written by tests that run side by side."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.gpu.conftest import environment

ENVIRONMENT = ("commit", "python", "versions", "cuda_driver", "gpus", "display_driver")


@cache
def machine() -> dict[str, Any]:
    """Return what the report says of the machine."""
    now = environment()
    return {key: now[key] for key in ENVIRONMENT if key in now}


class ZooReport:
    """A JSON document with what the machine is, and an entry per script.

    Parameters
    ----------
    path : Path
    beside : str
        Name of the copy that is written beside the report of ``GPU_REPORT``, where one is asked
        for.
    """

    def __init__(self, path: Path, beside: str) -> None:
        self.path = path
        self.beside = beside

    def read(self) -> dict[str, Any]:
        """Return the document, one without scripts where there is none."""
        try:
            return dict(json.loads(self.path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return {"scripts": {}}

    def write(self, entries: Mapping[str, Mapping[str, Any]], known: Iterable[str]) -> None:
        """Write fields of entries; other fields of theirs stay.

        Parameters
        ----------
        entries : mapping of str to mapping
            Fields by script.
        known : iterable of str
            Entries of other scripts are dropped.
        """
        now, kept = machine(), set(known)  # asked once, and not while others wait for the lock
        with open(Path(tempfile.gettempdir()) / f"cglens-{self.beside}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            scripts = self.read()["scripts"]
            for name, fields in entries.items():
                scripts[name] = {**scripts.get(name, {}), **fields}
            document = {
                **now,
                "scripts": {key: scripts[key] for key in sorted(scripts) if key in kept},
            }
            text = json.dumps(document, indent=1) + "\n"
            self.path.write_text(text, encoding="utf-8")
            report = os.environ.get("GPU_REPORT")
            if report:
                Path(report).with_name(self.beside).write_text(text, encoding="utf-8")
