"""A real GPU for the tests of this folder, and a report of their run.

Tests skip only when there is no GPU, or no cuda-bindings to ask for one; with ``REQUIRE_GPU=1``
they fail instead. With ``GPU_REPORT=PATH`` a JSON report of the run is written there.
``GPU_REPORT_COMMIT`` tells the commit of a copy that has another history, or none.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from capture.driver.cuda_bindings import CudaDriver
from capture.errors import MissingDependencyError, NoGpuError

HERE = Path(__file__).resolve().parent
PACKAGES = ("cuda-bindings", "torch", "cupti-python", "triton", "numpy", "networkx", "msgspec")


@pytest.fixture(scope="session")
def gpu() -> CudaDriver:
    """Return the real driver."""
    try:
        driver = CudaDriver()
        driver.devices()
    except (NoGpuError, MissingDependencyError) as error:
        if os.environ.get("REQUIRE_GPU") == "1":
            pytest.fail(f"REQUIRE_GPU=1, but {error}")
        pytest.skip(str(error))
    return driver


@pytest.fixture(autouse=True)
def _only_with_a_gpu(gpu: CudaDriver) -> None:
    """Make every test of this folder ask for the GPU."""


class Report:
    """Collects outcomes and writes them when the session ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.started = time.time()
        self.tests: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        entry = self.tests.setdefault(report.nodeid, {"outcome": "passed", "duration_ms": 0})
        entry["duration_ms"] += round(report.duration * 1000)
        if report.outcome != "passed":
            entry["outcome"] = report.outcome
            if report.skipped and isinstance(report.longrepr, tuple):
                entry["reason"] = report.longrepr[2]
            elif report.failed:
                entry["reason"] = report.longreprtext.strip().splitlines()[-1]

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        outcomes = [entry["outcome"] for entry in self.tests.values()]
        document = {
            "started_unix": round(self.started),
            "duration_s": round(time.time() - self.started, 1),
            "exit_status": int(exitstatus),
            "counts": {name: outcomes.count(name) for name in sorted(set(outcomes))},
            **environment(),
            "tests": self.tests,
        }
        self.path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def environment() -> dict[str, Any]:
    """Describe commit, machine and versions, each absent where it cannot be had."""
    found: dict[str, Any] = {
        "commit": os.environ.get("GPU_REPORT_COMMIT") or _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": {name: _version(name) for name in PACKAGES},
    }
    try:
        driver = CudaDriver()
        found["cuda_driver"] = driver.version()
        found["gpus"] = [gpu.name for gpu in driver.devices()]
        found["display_driver"] = _run(
            "nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"
        )
    except Exception as error:  # a report without a GPU is still a report
        found["no_gpu"] = str(error)
    return found


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _git(*arguments: str) -> str:
    return _run("git", "-C", str(HERE), *arguments)


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


def pytest_configure(config: pytest.Config) -> None:
    """Install the report when it is asked for."""
    path = os.environ.get("GPU_REPORT")
    if hasattr(config, "workerinput"):
        return  # a worker of pytest-xdist: the main process writes the report
    if path and not config.pluginmanager.hasplugin("gpu-report"):
        config.pluginmanager.register(Report(Path(path)), "gpu-report")


@pytest.fixture(autouse=True)
def _nothing_left_captured() -> Iterator[None]:
    """Let a test that broke a capture not break the next one."""
    yield
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
