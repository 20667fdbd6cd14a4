"""What `cglens doctor` says of a machine that can record and of ones that cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.recorder.conftest import Workplace


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


def checks(place: Workplace, **environment: str) -> tuple[int, dict[str, dict[str, Any]]]:
    done = place.cglens("doctor", "--json", env=environment)
    document = json.loads(done.out)
    assert document["can_record"] == (done.code == 0)
    return done.code, {check["name"]: check for check in document["checks"]}


def test_a_machine_that_can_record(place: Workplace) -> None:
    code, found = checks(place)
    assert code == 0, found
    assert {check["state"] for check in found.values()} <= {"ok", "note"}
    assert found["gpu"]["found"] == "0: Declared GPU"
    assert found["driver"]["found"].startswith("driver for CUDA 13.0")
    assert "nvidia-ml-py" in found["nvml"]["found"]
    assert found["trial"]["found"] == "captured, read and replayed a graph of 1 node(s)"


def test_text_has_a_line_for_each_check_and_a_verdict(place: Workplace) -> None:
    done = place.cglens("doctor")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "this machine can record"
    assert "ok       gpu" in done.out


def test_no_driver(place: Workplace) -> None:
    code, found = checks(place, NO_DRIVER="1")
    assert code == 1
    assert found["driver"]["state"] == found["gpu"]["state"] == "missing"
    assert "no CUDA driver" in found["driver"]["found"]
    assert found["gpu"]["fix"]
    assert found["trial"]["state"] == "note"


def test_no_torch(place: Workplace) -> None:
    place.write("own/torch.py", "raise ImportError('not here', name='torch')")
    place.environment["PYTHONPATH"] = f"{place.folder}/own:{place.environment['PYTHONPATH']}"
    code, found = checks(place)
    assert code == 1
    assert found["torch"]["state"] == "missing"
    assert "2.6 or newer" in found["torch"]["fix"]


def test_no_bindings(place: Workplace) -> None:
    place.write("own/cuda/__init__.py", "raise ImportError('not here', name='cuda')")
    place.environment["PYTHONPATH"] = f"{place.folder}/own:{place.environment['PYTHONPATH']}"
    code, found = checks(place)
    assert code == 1
    assert "pip install cuda-bindings" in found["cuda-bindings"]["fix"]
    assert found["driver"]["fix"] == "see cuda-bindings above"


def test_a_check_that_crashes_is_named(place: Workplace) -> None:
    place.write("own/torch.py", "import ctypes; ctypes.string_at(0)")
    place.environment["PYTHONPATH"] = f"{place.folder}/own:{place.environment['PYTHONPATH']}"
    code, found = checks(place)
    assert code == 1
    assert found["torch"]["state"] == "missing"
    assert "exit code -11" in found["torch"]["found"]
    assert found["driver"]["state"] == "ok"
