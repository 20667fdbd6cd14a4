"""Compiling the observer in C++: once, whole or not at all, and never a reason to fail."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from capture.recorder import torch_native_build as building
from capture.recorder.origins.settings import NATIVE_CACHE, OBSERVER
from capture.recorder.torch_native_build import Build, Unavailable
from capture.recorder.torch_origins import Watcher
from capture.recorder.torch_origins_capture import OriginSource

from .test_origins_torch import STREAM, CountingDriver


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "a folder"
    monkeypatch.setenv(NATIVE_CACHE, str(folder))
    return folder


class Compiler:
    """A script in the place of the compiler, which counts its runs."""

    def __init__(self, folder: Path, work: str) -> None:
        self.runs = folder / "runs"
        self.path = folder / "c++"
        # The output's name comes last.
        self.path.write_text(
            f"#!/bin/sh\necho run >>{self.runs}\nfor name; do :; done\n{work}\n", encoding="utf-8"
        )
        self.path.chmod(0o755)

    @property
    def count(self) -> int:
        return len(self.runs.read_text().splitlines()) if self.runs.exists() else 0


def compiled_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str
) -> tuple[Compiler, Build]:
    compiler = Compiler(tmp_path, work)
    monkeypatch.setenv("CXX", str(compiler.path))
    return compiler, building.plan(torch)


def make(build: Build) -> None:
    building.start(build)
    building.finish(build)


def test_what_was_made_is_not_made_again(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, build = compiled_by(tmp_path, monkeypatch, 'echo whole >"$name"')
    make(build)
    make(building.plan(torch))
    assert build.target.read_text() == "whole\n"
    assert compiler.count == 1
    assert list(cache.iterdir()) == [build.target]


def test_another_compiler_makes_another_file(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, first = compiled_by(tmp_path, monkeypatch, "true")
    time.sleep(0.01)
    _, second = compiled_by(tmp_path, monkeypatch, "true # a newer one")
    assert first.target != second.target


def test_a_failure_is_told_and_not_repeated(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, build = compiled_by(
        tmp_path, monkeypatch, 'echo half >"$name"; echo "a.h:1: error: no such thing"; exit 1'
    )
    for _ in range(2):
        building._compilers.clear()  # as another process would find it
        with pytest.raises(Unavailable, match="error: no such thing"):
            make(build)
    assert compiler.count == 1
    assert not build.target.exists()
    os.utime(build.failed, (0, 0))
    building._compilers.clear()
    with pytest.raises(Unavailable):
        make(build)
    assert compiler.count == 2


def test_a_compiler_that_is_killed_leaves_nothing_to_load(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its shell with it, as the end of a container would.
    _, build = compiled_by(tmp_path, monkeypatch, 'echo half >"$name"; kill -9 $PPID; kill -9 $$')
    with pytest.raises(Unavailable, match="before it was done"):
        make(build)
    assert not build.target.exists()


def test_what_cannot_be_loaded_is_said(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, build = compiled_by(tmp_path, monkeypatch, 'echo junk >"$name"')
    make(build)
    with pytest.raises(Unavailable, match="cannot be loaded"):
        building.load(build)


def test_a_cache_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv(NATIVE_CACHE, str(file / "folder"))
    with pytest.raises(Unavailable, match="cannot be compiled"):
        make(building.plan(torch))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("TORCH_API std::shared_ptr<Node> get_current_node();", 1),
        ("TORCH_API c10::intrusive_ptr<Node> get_current_node();", 2),
        ("TORCH_API Handle get_current_node();", 0),
    ],
)
def test_how_torch_returns_nodes_is_read(tmp_path: Path, text: str, found: int) -> None:
    header = tmp_path / "torch/csrc/autograd/function.h"
    header.parent.mkdir(parents=True)
    header.write_text(text)
    assert building.node_pointer(tmp_path) == found


def test_without_a_compiler_operators_are_seen_in_python(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "/nowhere/c++")
    monkeypatch.setenv(OBSERVER, "native")
    source = OriginSource()
    source.reason = ""
    watcher = source._watcher = Watcher(lambda: STREAM)
    driver: Any = CountingDriver()
    noted = source.begin(driver, STREAM, None)
    assert noted is not None
    try:
        torch.ones(2).sin()
    finally:
        noted.stop()
        watcher.close()
    origins = noted.build("g", driver.handles)
    assert [item.name for item in origins.operators][-1] == "aten.sin.default"
    assert "in Python" in origins.how[0]
    assert "/nowhere/c++" in origins.how[0]
    assert origins.extra["observer"] == "python"
