"""What is predicted of ``cuGraphExecUpdate`` against the driver's own answer, pair by pair.

The answers are written to ``tests/compare/update_report.json``, which tests without a GPU go by.
With ``GPU_REPORT=PATH`` the report is also copied beside that file, as ``update_report.json``.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from capture.compare import update_verdict
from capture.driver.cuda_bindings import CudaDriver
from capture.extract import Extraction, extract
from capture.model import GraphInfo
from tests.compare.update_report import ENVIRONMENT, EXPLAINED, REPORT, UNASKED, entry_of
from tests.gpu.conftest import environment
from tests.gpu.real_world import RealWorld
from tests.helpers.update_pairs import PAIRS, Pair
from tests.workloads.chains import CudaError, checked


@pytest.fixture(scope="module")
def world(gpu: CudaDriver) -> RealWorld:
    return RealWorld()


# This and the next are asked for by the names that pairs have for where they stand.
@pytest.fixture(scope="module")
def other_context(world: RealWorld) -> Iterator[RealWorld]:
    """Return a world in another context of the same device."""
    cuda = world.cuda
    try:
        checked(cuda.cuCtxCreate(None, 0, 0))
    except TypeError:  # bindings before CUDA 13
        checked(cuda.cuCtxCreate(0, 0))
    made = RealWorld()
    own = checked(cuda.cuCtxPopCurrent())
    yield made
    checked(cuda.cuCtxDestroy(own))


@pytest.fixture(scope="module")
def other_device(world: RealWorld) -> Iterator[RealWorld]:
    """Return a world on another device."""
    cuda = world.cuda
    if len(world.driver.devices()) < 2:
        pytest.skip("there is one device only")
    device = checked(cuda.cuDeviceGet(1))
    checked(cuda.cuCtxPushCurrent(checked(cuda.cuDevicePrimaryCtxRetain(device))))
    made = RealWorld()
    checked(cuda.cuCtxPopCurrent())
    yield made
    checked(cuda.cuDevicePrimaryCtxRelease(device))


class Report:
    """Writes what each pair came to, at once: a driver may crash, and other processes write too."""

    def __init__(self) -> None:
        now = environment()
        self._environment = {key: now[key] for key in ENVIRONMENT if key in now}

    def put(self, name: str, entry: dict[str, Any]) -> None:
        with open(Path(tempfile.gettempdir()) / "cglens-updates.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._write(_answered() | {name: entry})

    def _write(self, found: dict[str, dict[str, Any]]) -> None:
        pairs = {name: found[name] for name in PAIRS if name in found}
        counts = {
            "pairs": len(pairs),
            "agree": sum(entry["agrees"] for entry in pairs.values()),
            "explained": sum("explanation" in entry for entry in pairs.values()),
        }
        missing = {name: "it was not built in this run" for name in PAIRS if name not in found}
        document = {
            **self._environment,
            "counts": counts,
            "not_asked": UNASKED | missing,
            "pairs": pairs,
        }
        text = json.dumps(document, indent=1) + "\n"
        REPORT.write_text(text, encoding="utf-8")
        beside = os.environ.get("GPU_REPORT")
        if beside:
            Path(beside).with_name(REPORT.name).write_text(text, encoding="utf-8")


def _answered() -> dict[str, dict[str, Any]]:
    try:
        return dict(json.loads(REPORT.read_text(encoding="utf-8"))["pairs"])
    except (OSError, ValueError, KeyError):
        return {}


@pytest.fixture(scope="module")
def report(gpu: CudaDriver) -> Report:
    return Report()


def path_of(extraction: Extraction, node: int) -> str:
    """Return the path of a node by its handle, empty when the graph has no such node."""
    for path, handles in extraction.handles:
        if node in handles:
            return f"{path}/{handles.index(node)}".lstrip("/")
    return ""


@pytest.mark.parametrize("name", PAIRS)
def test_the_driver_answers_what_is_predicted(
    world: RealWorld, name: str, report: Report, request: pytest.FixtureRequest
) -> None:
    driver = world.driver
    try:
        pair: Pair = PAIRS[name](world)
        before = world.build(pair.before)
        if pair.elsewhere:
            other: RealWorld = request.getfixturevalue(f"other_{pair.elsewhere}")
            checked(world.cuda.cuCtxPushCurrent(world.cuda.CUcontext(other.context)))
            try:
                after = other.build(PAIRS[name](other).after)
            finally:
                checked(world.cuda.cuCtxPopCurrent())
        else:
            after = world.build(pair.after)
        executable = driver.instantiate(before, pair.flags)
    except CudaError as error:
        report.put(name, {"agrees": False, "not_built": str(error)})
        raise
    answer = driver.update(executable, after)
    driver.destroy_executable(executable)
    one, two = extract(driver, before), extract(driver, after)
    infos = [GraphInfo(key="", name="", device=number) for number in range(2)]
    second = infos[1] if pair.elsewhere == "device" else infos[0]
    verdict = update_verdict(one.graph, two.graph, infos[0], second, flags=pair.flags)
    for handle in (before, after):
        driver.destroy(handle)
    entry = entry_of(name, verdict, answer.result, path_of(two, answer.node))
    if answer.error:
        entry["error"] = answer.error
    report.put(name, entry)
    assert entry["agrees"] != (name in EXPLAINED), entry
