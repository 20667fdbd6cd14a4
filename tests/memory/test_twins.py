"""A second capture tells addresses from numbers; memory is made up."""

from __future__ import annotations

from typing import Any

from capture.analysis import Subject, run_analysis
from capture.memory.torch_snapshot import Tables, add_segments, add_sums
from capture.memory.twins import judge, twin_of
from capture.memory_map import Mark, Memory
from capture.model import GraphInfo, Metadata, Recording
from graphviz_app.subjects import subject_of
from tests.helpers.synthetic_memory import BASE, KEY, OWN, POOL, graph, kernel, memory, segment

OTHER_POOL = 0x7F2000000000
ELSEWHERE = (2, 0)
STALE = BASE + 600
"""A free block of the common pool, which both captures hold by chance."""


def of_other_pool(key: str) -> Memory:
    """Return memory with the same common pool, and a pool of its own elsewhere."""
    found = memory(key)
    found.pool, found.segments, found.blocks, found.sums = ELSEWHERE, None, None, None
    found.marks = [Mark(name="before capture"), Mark(name="after capture")]
    tables = Tables(found)
    segments = [
        segment(BASE, [(512, "active_allocated"), (512, "inactive")]),
        segment(OTHER_POOL, [(1024, "active_allocated"), (3072, "inactive")], ELSEWHERE),
    ]
    add_sums(tables, segments, 0)
    add_sums(tables, segments, 1)
    add_segments(tables, segments)
    return found


def launches(pool: int, number: int) -> Any:
    """Return two launches without a signature: pointers into a pool, a number, a leftover."""
    return graph(
        [
            kernel("plain", pool, pool + 64, number, POOL + 2000),
            kernel("plain", pool + 1024, pool + 2048, BASE),
        ],
        [(0, 1)],
    )


def test_what_moves_with_its_memory_is_an_address_and_what_stays_is_none() -> None:
    verdicts = judge(
        launches(POOL, STALE), memory(), launches(OTHER_POOL, 5 << 40), of_other_pool("t")
    )
    assert verdicts == {
        ("0", 0): True,
        ("0", 8): True,
        ("0", 16): False,  # is no address in the other capture
        ("0", 24): False,  # stays in memory of which all else moved
        ("1", 0): True,
        ("1", 8): True,
        # Nothing is known of the weight: its memory did not move.
    }


def test_other_kernels_are_not_compared() -> None:
    other = graph([kernel("another", OTHER_POOL, 0, 0, 0), kernel("plain", 7)], [(0, 1)])
    assert judge(launches(POOL, STALE), memory(), other, of_other_pool("t")) == {}


def recording(pool: tuple[int, int]) -> Recording:
    keys = (KEY, f"{KEY}again")
    infos = [
        GraphInfo(key=key, name="step", process=0, topology="same", pool=held)
        for key, held in zip(keys, (OWN, pool), strict=True)
    ]
    loaded = {keys[0]: launches(POOL, STALE), keys[1]: launches(OTHER_POOL, 5 << 40)}
    evidence: Any = {"memory": {keys[0]: memory(keys[0]), keys[1]: of_other_pool(keys[1])}}
    return Recording(Metadata(), infos, loaded=loaded, evidence=evidence)


def test_a_recording_with_a_second_capture_has_fewer_guesses() -> None:
    held = recording(ELSEWHERE)
    alone = Subject(held.graph(KEY), memory=held.memory(KEY))
    assert run_analysis("stale_pointers", alone).rows
    subject = subject_of(held, KEY, held.graph(KEY))
    assert not run_analysis("stale_pointers", subject).rows
    assert [item.word.guess for item in subject.pointers] == [False] * 2 + [True] * 2 + [
        False
    ] * 2 + [True]
    memory_ = held.memory(KEY)
    assert memory_ is not None
    assert twin_of(recording(OWN), KEY, memory_) is None
