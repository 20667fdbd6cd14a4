"""A script that is recorded as `cglens record` does it, with a limit on its time."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import capture
from capture.errors import NothingRecordedError
from capture.model import Recording
from capture.recorder import folder as folders
from capture.recorder import launch
from capture.recorder.pack import pack
from capture.recorder.timeline import TIMINGS

ROOT = Path(__file__).resolve().parents[2]


class Recorded:
    """How a script ended, and its recording.

    Parameters
    ----------
    script : Path
    folder : Path
        For the recording and Triton's cache.
    memory : str
        As ``--memory`` (``"1"``) and ``--memory-stacks`` (``"stacks"``) set it.
    limit_s : int
        After so many seconds the script is killed.
    variables : mapping of str to str, optional
        Of its environment.
    args : sequence of str
        Of the script.

    Raises
    ------
    subprocess.TimeoutExpired
        It took longer.
    """

    def __init__(
        self,
        script: Path,
        folder: Path,
        memory: str = "stacks",
        limit_s: int = 60,
        variables: Mapping[str, str] | None = None,
        args: Sequence[str] = (),
    ) -> None:
        output = folder / f"{script.stem}.cgl"
        growing = folders.make(output, [str(script)], True)
        environment = launch.child_environment(growing) | {
            TIMINGS: "0",
            launch.MEMORY: memory,
            "TRITON_CACHE_DIR": str(folder / "triton"),
            **(variables or {}),
        }
        self.done = subprocess.run(
            launch.child_command(str(script), args),
            env={**os.environ, **environment},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
        folders.write_exit(growing, self.done.returncode)
        self.recording: Recording | None = None
        """``None`` where the script captured nothing."""
        try:
            pack(growing, output, True)
        except NothingRecordedError:
            return
        self.recording = capture.read(output)
