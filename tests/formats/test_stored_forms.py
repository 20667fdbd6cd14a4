"""Files written by earlier versions keep reading; those of later ones say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

import capture.formats as formats
from capture.errors import NewerVersionError
from tests.formats.test_cgl import manifest_of, rewrite
from tests.formats.test_driver_dot import DATA
from tests.helpers.recordings import assert_equal, chain, recording_of
from tests.helpers.stored_evidence import with_evidence

FORMS = Path(__file__).parent.parent / "data" / "formats"


@pytest.mark.parametrize("name", ["alltypes_v0.cgl", "alltypes_v0.json"])
def test_version_0(name: str) -> None:
    found, expected = formats.read(FORMS / name), formats.read(DATA / "alltypes_all.dot")
    for key, info in expected.graphs.items():
        # Kinds of evidence that came later are not in the file, not even as absent.
        for later in ("writes", "updates"):
            assert not info.evidence.pop(later).present
        assert set(info.evidence) == set(found.info(key).evidence)
    assert_equal(found, expected)


@pytest.mark.parametrize("name", ["chain_v1.cgl", "chain_v1.json"])
def test_version_1(name: str) -> None:
    """Version 1 stays readable for ever: never make these files again."""
    recording = formats.read(FORMS / name)
    assert_equal(recording, with_evidence(recording_of(chain(3), chain(5))))
    assert recording.graph("synthetic-1").payloads[4].kernel.name == "_Z5scalePfi"
    (timings,) = recording.timings_of("synthetic-1")
    assert (timings.node, timings.median_ns) == (["0", "1", "2", "3", "4"], [2000] * 5)
    benchmark, origins = recording.benchmark("synthetic-1"), recording.origins("synthetic-1")
    assert benchmark is not None
    assert origins is not None
    assert benchmark.removals[0].without_ns == [18_000, 18_100, 18_200]
    assert [origins.operators[at].name for at in origins.operator] == [
        "aten.op0.default",
        "aten.op0.default",
        "aten.op1.default",
        "aten.op1.default",
        "aten.op2.default",
    ]
    assert origins.frames[origins.stacks[2][0]].line == 12


@pytest.mark.parametrize("extension", ["cgl", "json"])
def test_version_2_is_refused(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"later.{extension}"
    if extension == "cgl":
        formats.write(recording_of(chain(1)), path)
        rewrite(path, {"recording.json": {**manifest_of(path), "version": 2}})
    else:
        text = (FORMS / "chain_v1.json").read_text()
        path.write_text(text.replace('"version": 1', '"version": 2', 1))
    with pytest.raises(NewerVersionError, match=r"version 2.*up to version 1: upgrade with"):
        formats.read(path)
