"""Several captures and threads at once, for both observers of operators."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
import torch

from capture.recorder.origins.settings import OBSERVER
from capture.recorder.torch_origins import Watcher
from capture.recorder.torch_origins_capture import CaptureOrigins, OriginSource

current = threading.local()
"""The stream of a thread."""


def stream_now() -> int:
    return getattr(current, "stream", 0)


class Info(NamedTuple):
    id: int
    status: int = 1


class Driver:
    """One capture on each stream; every operator that is looked at makes one node."""

    def __init__(self) -> None:
        self.asked: dict[int, int] = {}

    def capture_info_address(self) -> int:
        return 0

    def capture_info(self, stream: int) -> Info:
        return Info(stream)

    def capture_tip(self, stream: int) -> Callable[[], int]:
        self.asked[stream] = 0

        def tip() -> int:
            self.asked[stream] += 1
            return self.asked[stream] // 2

        return tip

    def handles(self, stream: int) -> list[int]:
        return list(range(1, self.asked[stream] // 2 + 1))


@pytest.fixture(scope="module", params=["python", "native"])
def source(request: pytest.FixtureRequest) -> Iterator[OriginSource]:
    found = OriginSource()
    found.reason = ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(OBSERVER, request.param)
        watcher = found._watcher = Watcher(stream_now)
    assert watcher.observer.name == request.param, watcher.not_native
    yield found
    watcher.close()


def begin(source: OriginSource, driver: Any, stream: int) -> CaptureOrigins:
    current.stream = stream
    noted = source.begin(driver, stream, sys._getframe(0))
    assert noted is not None
    return noted


def operators(noted: CaptureOrigins, handles: list[int]) -> list[str]:
    assert noted._watched.problem == ""
    origins = noted.build("g", handles)
    return [origins.operators[at].name.split(".")[1] for at in origins.operator]


def test_captures_of_two_threads_are_told_apart(source: OriginSource) -> None:
    driver = Driver()
    both = threading.Barrier(2)
    found: dict[int, list[str]] = {}

    def work(stream: int, name: str) -> None:
        x = torch.ones(2)
        noted = begin(source, driver, stream)
        both.wait()
        for _ in range(50):
            getattr(x, name)()
        both.wait()
        noted.stop()
        found[stream] = operators(noted, driver.handles(stream))

    threads = [threading.Thread(target=work, args=item) for item in ((3, "sin"), (4, "cos"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {3: ["sin"] * 50, 4: ["cos"] * 50}


def test_an_operator_that_runs_while_its_capture_ends(source: OriginSource) -> None:
    driver = Driver()
    inside, ended = threading.Event(), threading.Event()

    def slow(x: torch.Tensor) -> torch.Tensor:
        inside.set()
        ended.wait(30)
        return x.clone()

    operator = torch.library.custom_op(f"cglens_tests::slow_{id(source)}", slow, mutates_args=())
    source.prepare()
    started, results = threading.Event(), []
    noted: list[CaptureOrigins] = []

    def work() -> None:
        noted.append(begin(source, driver, 5))
        started.set()
        results.append(operator(torch.ones(2)))

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(30)
    noted[0].stop()
    ended.set()
    thread.join()
    assert torch.equal(results[0], torch.ones(2))
    assert operators(noted[0], []) == []


def test_a_capture_goes_on_after_an_end_that_was_refused(source: OriginSource) -> None:
    driver = Driver()
    x = torch.ones(2)
    noted = begin(source, driver, 6)
    x.sin()
    noted.stop()
    x.tan()
    noted.resume()
    x.cos()
    noted.stop()
    noted.stop()
    assert operators(noted, driver.handles(6)) == ["sin", "cos"]


def test_a_forked_child_watches_nothing(source: OriginSource) -> None:
    driver = Driver()
    x = torch.ones(2)
    noted = begin(source, driver, 8)
    x.sin()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forks of processes with threads
        child = os.fork()
    if not child:
        code = 1
        try:
            source.abandon()
            x.cos()
            code = 0 if driver.asked[8] == 2 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    x.tan()
    noted.stop()
    assert operators(noted, driver.handles(8)) == ["sin", "tan"]
