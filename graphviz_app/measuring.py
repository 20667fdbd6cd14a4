"""Measuring from the dashboard: the user's own command of this session, run again in a child.

Only the command that `cglens run` was given is ever run. A recording names a command too, but it
may come from elsewhere: that one is shown, never started.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from capture.errors import GraphLensError

if TYPE_CHECKING:
    from .store import Store

ROOT = Path(__file__).resolve().parent.parent
CODE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from graphviz_app.watched import main; main()"
)
LINES = 8
"""Last lines of the child's output that are shown."""
PATIENCE_S = 10.0


class MeasureError(GraphLensError):
    """Nothing can be measured now."""


@dataclass(frozen=True)
class Workload:
    """What the user told `cglens run` to run."""

    target: str
    args: tuple[str, ...] = ()
    module: bool = False

    @property
    def words(self) -> list[str]:
        """The command as it stands behind ``cglens record``."""
        return [*(["-m"] if self.module else []), self.target, *self.args]


class Step(StrEnum):
    """Where a measurement is."""

    IDLE = "idle"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Progress:
    """What is going on, for the screen.

    Attributes
    ----------
    step : Step
    what : str
        What is or was measured, in words.
    number : int
        Counts measurements of this session.
    seconds : float
        Since it started, or that it took.
    lines : tuple of str
        The child's last lines.
    message : str
        How it ended.
    recording : str
        Id of the new recording.
    graph : str
        Key of the graph that was measured.
    """

    step: Step = Step.IDLE
    what: str = ""
    number: int = 0
    seconds: float = 0.0
    lines: tuple[str, ...] = ()
    message: str = ""
    recording: str = ""
    graph: str = ""


@dataclass
class _Job:
    child: subprocess.Popen[bytes]
    output: Path
    started: float
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LINES))
    cancelled: bool = False


class Measurer:
    """Runs one measurement at a time and opens what it leaves.

    Parameters
    ----------
    store : Store
        Takes the new recordings.
    workload : Workload
    beside : Path
        The recording of this session; new ones are written next to it.
    """

    def __init__(self, store: Store, workload: Workload, beside: Path) -> None:
        self.workload = workload
        self.measured: list[str] = []
        """Ids of the recordings that were made here."""
        self._store = store
        self._beside = beside
        self._lock = threading.Lock()
        self._job: _Job | None = None
        self._last = Progress()

    def progress(self) -> Progress:
        """Return what is going on."""
        with self._lock:
            job, last = self._job, self._last
            if job is None:
                return last
            seconds = time.monotonic() - job.started
            return replace(last, seconds=seconds, lines=tuple(job.lines))

    def start(self, words: Sequence[str], what: str, graph: str) -> None:
        """Run ``cglens WORDS`` on the workload.

        Parameters
        ----------
        words : sequence of str
            Command and options, such as ``["whatif", "--free", "node:3"]``.
        what : str
            The same for people.
        graph : str
            Key of the only graph to measure.

        Raises
        ------
        MeasureError
            Another measurement is running, or the child cannot be started.
        """
        with self._lock:
            if self._job is not None:
                raise MeasureError(
                    f"{self._last.what} is being measured: wait for its end, or cancel it"
                )
            output = free_name(self._beside, words[0])
            command = [sys.executable, "-P", "-c", CODE, str(ROOT), *words]
            command += ["--graph", graph, "-o", str(output), *self.workload.words]
            try:
                child = subprocess.Popen(  # noqa: S603 - the user's own command of this session
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise MeasureError(f"cannot start {sys.executable}: {error}") from error
            job = self._job = _Job(child, output, time.monotonic())
            self._last = Progress(Step.RUNNING, what, self._last.number + 1, graph=graph)
        threading.Thread(target=self._follow, args=(job,), name="measuring", daemon=True).start()

    def cancel(self) -> None:
        """End the measurement that is running, with all that it started."""
        with self._lock:
            job = self._job
            if job is None:
                return
            job.cancelled = True
        _let_go(job.child)

    def close(self) -> None:
        """Cancel, and wait until the child has ended."""
        job = self._job
        self.cancel()
        if job is not None:
            with suppress(subprocess.TimeoutExpired):
                job.child.wait(PATIENCE_S)

    def _follow(self, job: _Job) -> None:
        assert job.child.stdout is not None
        for raw in job.child.stdout:
            text = "".join(
                sign if sign.isprintable() else " "
                for sign in raw.decode(errors="replace").rstrip()
            )
            if text:
                job.lines.append(text[-300:])
        job.child.stdout.close()
        code = job.child.wait()
        _let_go(job.child)
        step, message, recording = self._outcome(job, code)
        with self._lock:
            self._last = replace(
                self._last,
                step=step,
                seconds=time.monotonic() - job.started,
                lines=() if step is Step.DONE and code == 0 else tuple(job.lines),
                message=message,
                recording=recording,
            )
            self._job = None

    def _outcome(self, job: _Job, code: int) -> tuple[Step, str, str]:
        """Open what the child left, and say how it ended."""
        if job.cancelled:
            return Step.CANCELLED, "Cancelled; nothing was kept.", ""
        if not job.output.is_file():
            return Step.FAILED, f"It ended with exit code {code} and left no recording.", ""
        from capture import read

        try:
            opened = self._store.add(job.output.name, read(job.output), job.output)
        except GraphLensError as error:
            return Step.FAILED, f"Its recording cannot be read: {error}", ""
        self.measured.append(opened)
        ended = "" if code == 0 else f" It ended with exit code {code}."
        return Step.DONE, f"Recorded in {job.output}.{ended}", opened


def _let_go(child: subprocess.Popen[bytes]) -> None:
    """Close the pipe that keeps the child alive."""
    with suppress(OSError, ValueError):
        if child.stdin is not None:
            child.stdin.close()


def free_name(beside: Path, word: str) -> Path:
    """Return a name for a new recording next to another, which no file has.

    Examples
    --------
    >>> free_name(Path("/nowhere/train.cgl"), "whatif").name
    'train.whatif-1.cgl'
    """
    stem = beside.name.removesuffix(".cgl")
    number = 1
    while True:
        found = beside.with_name(f"{stem}.{word}-{number}.cgl")
        if not os.path.lexists(found) and not os.path.lexists(f"{found}.recording"):
            return found
        number += 1
