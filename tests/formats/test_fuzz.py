"""Mutated real files: read, or refused with a FormatError; nothing else, and soon."""

from __future__ import annotations

import json
import time
import zipfile
from contextlib import suppress
from copy import deepcopy
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import capture.formats as formats
from capture.errors import FormatError, LookupFailed
from capture.evidence import STORED
from tests.formats.test_driver_dot import DATA
from tests.helpers.recordings import chain, recording_of
from tests.helpers.stored_evidence import with_evidence

LIMIT_SECONDS = 10
EXTENSIONS = {"cgl": ".cgl", "json": ".json", "node-link": ".nodelink.json", "driver-dot": ".dot"}
relaxed = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@cache
def original(name: str) -> bytes:
    """Return a real file of each format."""
    if name == "driver-dot":
        return (DATA / "alltypes_all.dot").read_bytes()
    stream = BytesIO()
    recording = formats.read(DATA / "alltypes_all.dot")
    if name in ("cgl", "json"):
        recording = with_evidence(recording)
    formats.write_stream(recording, stream, name)
    return stream.getvalue()


def read_all(path: Path) -> None:
    """Read a file and everything in it; only a FormatError may come out of it."""
    started = time.process_time()
    with suppress(FormatError):
        recording = formats.read(path)
        with suppress(FormatError):
            _ = recording.timeline
        for kind in STORED:
            for owner in recording.stored(kind):
                with suppress(FormatError):
                    recording.evidence(kind, owner)
        for key in [*recording.graphs, *recording.failed]:
            # A graph whose nodes are not in the file is no damage.
            with suppress(FormatError, LookupFailed):
                list(recording.graph(key).walk())
    assert time.process_time() - started < LIMIT_SECONDS


def mutate(data: st.DataObject, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(0, len(changed) - 1)))
        kind = data.draw(st.sampled_from(("flip", "cut", "insert", "repeat", "swap")))
        if kind == "flip" and changed:
            changed[place] ^= 1 << data.draw(st.integers(0, 7))
        elif kind == "cut":
            del changed[place : place + data.draw(st.integers(1, 200))]
        elif kind == "insert":
            changed[place:place] = data.draw(
                st.sampled_from([b"\xff", b'"', b"{", b"}", b"\\", b"\0", b"-1", b"9" * 30, b"[["])
            )
        elif kind == "repeat":
            part = changed[place : place + 50]
            changed[place:place] = part * data.draw(st.integers(1, 20))
        else:
            other = data.draw(st.integers(0, max(0, len(changed) - 1)))
            changed[place : place + 9], changed[other : other + 9] = (
                changed[other : other + 9],
                changed[place : place + 9],
            )
    return bytes(changed)


@pytest.mark.parametrize("name", EXTENSIONS)
@given(st.data())
@relaxed
def test_mutated_bytes(name: str, tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / f"mutant{EXTENSIONS[name]}"
    path.write_bytes(mutate(data, original(name)))
    read_all(path)


@given(st.data())
@relaxed
def test_mutated_members_of_a_zip_that_is_sound(tmp_path: Path, data: st.DataObject) -> None:
    with zipfile.ZipFile(BytesIO(original("cgl"))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = data.draw(st.sampled_from(sorted(members)))
    members[chosen] = mutate(data, members[chosen])
    path = tmp_path / "mutant.cgl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    read_all(path)


SCALARS: list[Any] = [None, True, -1, 2**40, 10**40, 1.5, "", "x"]
VALUES: list[Any] = [*SCALARS, [], {}, [[]], {"a": 1}, [None] * 3]


def replace_somewhere(data: st.DataObject, document: Any) -> None:
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        child = place[key]
        if isinstance(child, (dict, list)) and child and data.draw(st.integers(0, 5)):
            place = child
            continue
        if isinstance(place, dict) and data.draw(st.booleans()):
            place["renamed"] = place.pop(key)
        else:
            # A copy: the next replacement may land inside it.
            place[key] = deepcopy(data.draw(st.sampled_from(VALUES)))
        return


@pytest.mark.parametrize("name", ["json", "node-link"])
@given(st.data())
@relaxed
def test_values_of_another_kind(name: str, tmp_path: Path, data: st.DataObject) -> None:
    document = json.loads(original(name))
    for _ in range(data.draw(st.integers(1, 3))):
        replace_somewhere(data, document)
    path = tmp_path / f"mutant{EXTENSIONS[name]}"
    path.write_text(json.dumps(document))
    read_all(path)


@given(st.data())
@relaxed
def test_members_with_values_of_another_kind(tmp_path: Path, data: st.DataObject) -> None:
    with zipfile.ZipFile(BytesIO(original("cgl"))) as archive:
        members = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    filled = sorted(name for name, document in members.items() if document)
    replace_somewhere(data, members[data.draw(st.sampled_from(filled))])
    path = tmp_path / "mutant.cgl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, document in members.items():
            archive.writestr(name, json.dumps(document))
    read_all(path)


@given(st.binary(max_size=200), st.sampled_from(sorted(EXTENSIONS.values())))
@relaxed
def test_noise(tmp_path: Path, content: bytes, extension: str) -> None:
    path = tmp_path / f"noise{extension}"
    path.write_bytes(content)
    with pytest.raises(FormatError):
        formats.read(path)


@given(st.text('dig{}[]"\\;=->_ graph1node0|\n/*#', max_size=120))
@relaxed
def test_dot_shaped_noise(tmp_path: Path, text: str) -> None:
    path = tmp_path / "noise.dot"
    path.write_text(f"digraph d {{ {text}")
    read_all(path)


def test_the_original_files_are_read() -> None:
    # Otherwise the tests above would mutate what is refused anyway.
    recording = recording_of(chain(1))
    assert set(EXTENSIONS) <= set(formats.formats())
    for name in EXTENSIONS:
        assert original(name), recording
