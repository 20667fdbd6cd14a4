"""Recording real child processes, with stand-ins for torch and the driver where there is no GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest

import capture
from capture.model import Recording

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = ROOT / "tests" / "helpers" / "stand_in"


class Done(NamedTuple):
    code: int
    out: str
    err: str
    folder: Path

    def recording(self, name: str = "out.cgl") -> Recording:
        return capture.read(self.folder / name)


class Workplace:
    """A folder with scripts, run with and without recording."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("CGLENS")
        }
        self.environment["PYTHONPATH"] = os.pathsep.join((str(STAND_IN), str(ROOT)))

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    def run(self, *command: str, **options: Any) -> Done:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment | options.pop("env", {}),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **options,
        )
        return Done(done.returncode, done.stdout, done.stderr, self.folder)

    def python(self, *arguments: str, **options: Any) -> Done:
        return self.run(sys.executable, *arguments, **options)

    def cglens(self, *arguments: str, **options: Any) -> Done:
        return self.run(sys.executable, "-P", "-m", "graphviz_app", *arguments, **options)

    def record(self, *arguments: str, **options: Any) -> Done:
        return self.cglens("record", "-o", "out.cgl", *arguments, **options)

    def recorded(self, text: str, *arguments: str) -> Recording:
        """Record a script that must succeed, and return the recording."""
        self.write("script.py", text)
        done = self.record("script.py", *arguments)
        assert done.code == 0, done.err
        assert sorted(path.name for path in self.folder.glob("out.cgl*")) == ["out.cgl"]
        return done.recording()


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)
