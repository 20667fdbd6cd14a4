"""The variables that a parent sets are those that the recorder in the child reads."""

from __future__ import annotations

import re
from pathlib import Path

from capture.recorder import launch

READER = Path(launch.__file__).parent / "torch_origins_capture.py"


def test_the_recorder_reads_what_the_command_line_sets() -> None:
    # Its module is for a process with torch: it is read, not imported.
    found = dict(re.findall(r'^(ORIGINS|SOURCES) = "(\w+)"', READER.read_text(), re.MULTILINE))
    assert found == {"ORIGINS": launch.ORIGINS, "SOURCES": launch.SOURCES}
