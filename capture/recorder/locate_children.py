"""Children of `cglens locate`: started, watched while they answer, killed when they hang."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..locate_request import ENVIRONMENT, Answer, LocateRequest, read
from . import folder as folders
from .launch import MEMORY, ORIGINS, child_environment
from .locate_search import Outcome
from .timeline import TIMINGS

POLL_S = 0.05
GRACE_S = 10.0
"""Beyond its own limit, a child gets this long to say that something hangs."""
WORK_TIMES = 10
"""A step that does more than wait for one node gets this many times the limit."""
LONGEST_TAIL = 400


class Ended(NamedTuple):
    """How a child ended.

    Attributes
    ----------
    answers : list of Answer
    exit_code : int
        As :class:`subprocess.Popen` gives it.
    killed : str
        Why it was killed; empty if it was not.
    tail : str
        The end of what it wrote, of a child that was kept quiet.
    wall_ms : int
    """

    answers: list[Answer]
    exit_code: int
    killed: str
    tail: str
    wall_ms: int

    @property
    def last(self) -> Answer | None:
        """The last line."""
        return self.answers[-1] if self.answers else None

    @property
    def outcome(self) -> Answer | None:
        """The line that says how it went."""
        return next((one for one in self.answers if one.event == "outcome"), None)


class Children:
    """Runs one command again and again, each time with another task.

    Parameters
    ----------
    command : sequence of str
        Of :func:`capture.recorder.launch.child_command`.
    scratch : Path
        A folder of our own.
    """

    def __init__(self, command: Sequence[str], scratch: Path) -> None:
        self._command = list(command)
        self._scratch = scratch
        self._number = 0

    def run(
        self,
        request: LocateRequest,
        folder: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run a child until it ends.

        Parameters
        ----------
        request : LocateRequest
            Its file of answers is named here.
        folder : Path, optional
            Of a recording to keep; with one, the child has our standard streams. Without one
            nothing but answers is kept.
        variables : mapping of str to str, optional
            More of the environment.
        """
        self._number += 1
        answers = self._scratch / f"answers-{self._number}.jsonl"
        quiet = folder is None
        if folder is None:
            output = self._scratch / f"child-{self._number}.cgl"
            folder = folders.make(output, self._command, force=True)
        environment = child_environment(folder)
        environment[ENVIRONMENT] = msgspec.structs.replace(request, answers=str(answers)).to_json()
        environment[TIMINGS] = "0"
        if quiet:
            environment[ORIGINS] = "0"
            environment.pop(MEMORY, None)
        environment |= dict(variables or {})
        log = self._scratch / f"output-{self._number}.txt"
        start = time.monotonic()
        with log.open("wb") as stream:
            child = subprocess.Popen(  # noqa: S603 - the user's own command
                self._command,
                env=environment,
                stdin=subprocess.DEVNULL if quiet else None,
                stdout=stream if quiet else None,
                stderr=subprocess.STDOUT if quiet else None,
                start_new_session=True,
            )
            try:
                killed, found = self._watch(child, answers, request)
            finally:
                _kill(child)
        if quiet:
            with suppress(Exception):
                folders.remove(folder)
        tail = log.read_bytes()[-LONGEST_TAIL:].decode(errors="replace") if quiet else ""
        wall_ms = round(1000 * (time.monotonic() - start))
        return Ended(found, child.returncode, killed, tail.strip(), wall_ms)

    @staticmethod
    def _watch(
        child: subprocess.Popen[bytes], answers: Path, request: LocateRequest
    ) -> tuple[str, list[Answer]]:
        found: list[Answer] = []
        offset, since = 0, time.monotonic()
        while True:
            ended = child.poll() is not None
            fresh, offset = read(answers, offset)
            if fresh:
                since = time.monotonic()
                found += fresh
            if ended:
                return "", found
            limit = _limit(found[-1] if found else None, request)
            if limit is not None and time.monotonic() - since > limit:
                return f"it did not answer for {limit:g} s", found
            time.sleep(POLL_S)


def _limit(last: Answer | None, request: LocateRequest) -> float | None:
    """Return how long a child may be silent after a line; ``None`` where that is its own matter."""
    if last is None or last.event in ("captured", "replayed"):
        return None  # the script at its own work
    if last.event == "outcome" and request.step == "observe":
        # After a fault the script meets its error by itself; a child that hangs has left already.
        return 60.0 + request.timeout_s
    if last.event == "start":
        return WORK_TIMES * request.timeout_s + GRACE_S
    return request.timeout_s + GRACE_S


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End what is left of a child and of the processes that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def outcome_of(ended: Ended, places: Mapping[int, int], order: str) -> Outcome:
    """Say how a part of a graph ended.

    Parameters
    ----------
    ended : Ended
    places : mapping of int to int
        Place in the order of nodes, by position.
    order : str
        What the graph has to be: see :attr:`capture.locate_request.Answer.order`.
    """
    captured = [one for one in ended.answers if one.event == "captured"]
    if order and captured and all(one.order != order for one in captured):
        return Outcome("lost", detail="the graph was another one this time", wall_ms=ended.wall_ms)
    outcome, last = ended.outcome, ended.last
    if outcome is not None:
        place = places.get(outcome.node, -1)
        return Outcome(outcome.what, place, outcome.detail, ended.wall_ms, outcome.path)
    if last is not None and last.event in ("start", "node"):
        place = places.get(last.node, -1)
        if ended.killed:
            return Outcome("hang", place, ended.killed, ended.wall_ms, last.path)
        how = f"the process {_end(ended.exit_code)}"
        return Outcome("died", place, how, ended.wall_ms, last.path)
    why = f"{ended.killed or f'the process {_end(ended.exit_code)}'} before the replay"
    lines = ended.tail.splitlines()
    if lines:
        why = f"{why}: {lines[-1].strip()}"
    return Outcome("lost", detail=why, wall_ms=ended.wall_ms)


def _end(exit_code: int) -> str:
    if exit_code >= 0:
        return f"ended with exit code {exit_code}"
    try:
        return f"died of {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"died of signal {-exit_code}"
