"""Stands at the replays of a process and runs parts of a graph in place of one of them.

The parent (:mod:`capture.recorder.locating`) starts the workload anew for each part: a node that
breaks the device takes the process with it. State is as the script left it at that replay, so
nothing has to be saved, and every part but ``observe`` ends the process.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ...driver.replay_protocol import ReplayDriver
from ...errors import DriverError, GraphLensError
from ...locate_request import Answer, LocateRequest, write
from ..open_capture import OpenCapture
from .node_steps import NodeSteps
from .safety import cannot_run_in_place
from .stopwatch import HungError
from .target import Target, fingerprint
from .waiting import Waiting, relaxed

LEFT = 76
"""Exit code of a process that ran what it was asked for."""
MOST_PREPARED = 20_000
"""Executables of single nodes that are made when the capture has ended; later ones as needed."""


class Locator:
    """Answers one request in one process.

    Parameters
    ----------
    request : LocateRequest
    leave : callable
        Ends the process at once: a kernel that never ends keeps every other way out waiting.
    """

    def __init__(self, request: LocateRequest, leave: Callable[[int], NoReturn] = os._exit) -> None:
        self.request = request
        self.leave = leave
        self.works: dict[str, Callable[[Waiting, Target], None]] = {
            "walk": self._walk,
            "prefix": self._prefix,
        }
        """What each step runs in place of a replay; torch's side adds its own."""
        self.after_replay: Callable[[Target, Answer], None] | None = None
        """Looks at results of a replay that ended, for ``observe``."""
        self.make_log: Callable[[Any, OpenCapture], Any] | None = None
        self._logs: dict[int, Any] = {}
        self._targets: dict[int, tuple[weakref.ref[Any], Target]] = {}
        self._pending: dict[int, Target] = {}
        self._counts: dict[str, int] = {}
        self._over = self._busy = False

    def say(self, event: str, **fields: Any) -> None:
        """Write a line for the parent."""
        write(self.request.answers, Answer(event=event, pid=os.getpid(), **fields))

    def outcome(self, what: str, target: Target, replay: int, **fields: Any) -> None:
        """Write the last line."""
        self._over = True
        self.say("outcome", what=what, graph=target.key, replay=replay, **fields)

    # Captures

    def wants(self, key: str) -> bool:
        """Say whether a graph is looked at."""
        return not self.request.graph or key == self.request.graph

    def begun(self, driver: Any, capture: OpenCapture) -> None:
        """Watch operators from the begin of a capture on, where that was asked for."""
        if self.make_log is not None and self.wants(capture.key):
            self._logs[id(capture)] = self.make_log(driver, capture)

    def read(self, driver: Any, capture: OpenCapture) -> None:
        """Clone a graph whose nodes were just read and whose capture is about to end."""
        log = self._logs.pop(id(capture), None)
        if log is not None:
            log.stop()
        extraction = capture.extraction
        if extraction is None or not self.wants(capture.key):
            return
        target = self._pending[id(capture)] = Target(capture, extraction.graph)
        target.log = log
        if self.request.step == "observe":
            return
        target.refused = cannot_run_in_place(extraction.graph)
        if target.refused:
            return
        try:
            with relaxed(driver):
                target.clone = driver.clone(capture.handle)
                target.nodes = driver.find_in_clone(extraction.handles[0][1], target.clone)
        except Exception as error:
            target.refused = f"it could not be cloned: {error}"

    def captured(self, driver: Any, graph: Any, capture: OpenCapture) -> None:
        """Get ready for replays of a graph whose capture ended well."""
        target = self._pending.pop(id(capture), None)
        if target is None:
            return
        try:
            if target.clone:
                target.steps = NodeSteps(driver, target.graph, target.clone, target.nodes)
                with relaxed(driver):
                    self._prepare(target, target.steps)
        except Exception as error:
            target.refused = f"parts of it could not be instantiated: {error}"
        self._targets[id(graph)] = weakref.ref(graph), target
        self.say(
            "captured",
            graph=target.key,
            count=len(target.graph),
            order=fingerprint(target),
            detail=target.refused,
        )

    def _prepare(self, target: Target, steps: NodeSteps) -> None:
        # An executable of a copy whose memory is gone by then cannot be made: the driver crashes.
        if self.request.step == "prefix":
            count = min(self.request.prefix, len(steps.order))
            target.executables[count] = steps.prefix(count)
            return
        for position in steps.order[:MOST_PREPARED]:
            inside = steps.inside(position)
            if inside:
                made = [(path, steps.copy(node, number)) for path, node, number in inside]
                target.inside[position] = made
            else:
                target.executables[position] = steps.single(position)

    def failed(self, capture: OpenCapture) -> None:
        """Forget a capture that did not end well."""
        self._pending.pop(id(capture), None)
        log = self._logs.pop(id(capture), None)
        if log is not None:
            log.stop()

    def called(self, graph: Any, call: Callable[[], Any]) -> None:
        """Take note of the function that a graph was captured from by us."""
        found = self._targets.get(id(graph))
        if found is not None and found[0]() is graph:
            found[1].call = call

    # Replays

    def replay_of(self, target: Target) -> int:
        """Return the number of a graph's latest replay."""
        return self._counts.get(target.key, 1) - 1

    def replaying(self, driver: Any, graph: Any, stream: int, original: Callable[[], Any]) -> Any:
        """Stand in for a replay, or let it be."""
        found = self._targets.get(id(graph))
        if found is None or found[0]() is not graph or self._over or self._busy:
            return original()
        target = found[1]
        replay = self._counts.get(target.key, 0)
        self._counts[target.key] = replay + 1
        if self.request.step == "observe":
            return self._observe(driver, target, replay, stream, original)
        goes_on = self.request.step == "eager"
        if not goes_on and replay != self.request.replay:
            return original()
        self._busy = True
        try:
            with relaxed(driver):
                self._instead(driver, target, replay, stream)
        finally:
            self._busy = False
        if not self._over and goes_on:
            self.say("replayed", graph=target.key, replay=replay)
            return None
        return self.leave(LEFT)

    def _observe(
        self,
        driver: ReplayDriver,
        target: Target,
        replay: int,
        stream: int,
        original: Callable[[], Any],
    ) -> Any:
        waiting = Waiting(driver, stream, self.request.timeout_s)
        self.say("replaying", graph=target.key, replay=replay)
        if not self._in_order(waiting, target, replay):
            return original()
        try:
            result = original()
        except Exception as error:
            self.outcome("fault", target, replay, detail=f"{type(error).__name__}: {error}")
            raise
        with relaxed(driver):
            try:
                waiting.idle()
            except HungError as error:
                self.outcome("hang", target, replay, detail=str(error))
                self.leave(LEFT)
            except DriverError as error:
                self.outcome("fault", target, replay, detail=str(error))
                return result  # the script meets the error where it would have anyway
            answer = Answer(event="replayed", pid=os.getpid(), graph=target.key, replay=replay)
            self._look(target, answer)
        if answer.what:
            self._over = True
            answer.event = "outcome"
        write(self.request.answers, answer)
        return result

    def _look(self, target: Target, answer: Answer) -> None:
        """Look at what a replay left; a look that fails is the last one."""
        if self.after_replay is None:
            return
        try:
            self.after_replay(target, answer)
        except Exception as error:
            self.after_replay = None
            answer.what = ""
            detail = f"values could not be looked at: {type(error).__name__}: {error}"
            self.say("note", graph=target.key, detail=detail)

    def _in_order(self, waiting: Waiting, target: Target, replay: int) -> bool:
        """Say whether the device is well before a replay; else the replay is not to blame."""
        with relaxed(waiting.driver):
            try:
                waiting.idle()
            except HungError as error:
                self.outcome("outside", target, replay, detail=f"before the replay: {error}")
                self.leave(LEFT)
            except DriverError as error:
                self.outcome("outside", target, replay, detail=f"before the replay: {error}")
                return False
        return True

    def _instead(self, driver: ReplayDriver, target: Target, replay: int, stream: int) -> None:
        waiting = Waiting(driver, stream, self.request.timeout_s)
        self.say("start", graph=target.key, replay=replay)
        if not self._in_order(waiting, target, replay):
            return
        if target.refused or target.steps is None:
            self.outcome("refused", target, replay, detail=target.refused)
            return
        try:
            self.works[self.request.step](waiting, target)
        except HungError as error:
            at = {"node": waiting.node, "path": waiting.path}
            self.outcome("hang", target, replay, detail=str(error), **at)
        except DriverError as error:
            at = {"node": waiting.node, "path": waiting.path}
            self.outcome("fault", target, replay, detail=str(error), **at)
        except GraphLensError as error:
            self.outcome("refused", target, replay, detail=str(error))
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
            self.outcome("refused", target, replay, detail=detail)
        if not self._over and self.request.step != "eager":
            self.outcome("clean", target, replay)

    def _walk(self, waiting: Waiting, target: Target) -> None:
        for _ in self.nodes(waiting, target):
            pass

    def nodes(self, waiting: Waiting, target: Target) -> Iterator[int]:
        """Run nodes one by one; yield the position of each when it has ended.

        Raises
        ------
        DriverError
            A node broke the device, or an executable of it could not be made.
        HungError
            A node does not end.
        """
        steps = target.steps
        assert steps is not None
        for position in steps.order:
            waiting.node = position
            self.say("node", node=position)
            for path, executable in target.inside.get(position, ()):
                waiting.path = path
                self.say("node", node=position, path=path)
                waiting.run(executable)
            waiting.path = ""
            if position not in target.inside:
                waiting.run(target.executables.get(position, 0) or steps.single(position))
            yield position

    def _prefix(self, waiting: Waiting, target: Target) -> None:
        count = min(self.request.prefix, len(target.graph))
        if count:  # the driver refuses to launch nothing in older versions
            waiting.run(target.executables[count])
