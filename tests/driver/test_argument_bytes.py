"""Arguments laid out in this process's memory in many ways, read back as the kernel sees them."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.driver.argument_bytes import read_arguments
from capture.driver.records import Launch, LaunchRow, Layout
from tests.helpers.fake_driver import packed

# What lies between parameters in memory; it must not get into a buffer.
JUNK = b"\xee"


class Memory:
    """Memory that lives as long as this."""

    def __init__(self) -> None:
        self._keep: list[Any] = []

    def put(self, data: bytes) -> int:
        buffer = ctypes.create_string_buffer(data, max(1, len(data)))
        self._keep.append(buffer)
        return ctypes.addressof(buffer)

    def words(self, *values: int) -> int:
        return self.put(struct.pack(f"<{len(values)}Q", *values))

    def single(self, layout: Layout, values: list[bytes], runs: list[int]) -> LaunchRow:
        """Point to each parameter; those of equal number in `runs` lie as in the layout."""
        end = max(offset + size for offset, size in layout)
        pointers = [0] * len(layout)
        for number in set(runs):
            piece = bytearray(JUNK * end)
            mine = [at for at, run in enumerate(runs) if run == number]
            for at in mine:
                offset, size = layout[at]
                piece[offset : offset + size] = values[at]
            base = self.put(bytes(piece))
            for at in mine:
                pointers[at] = base + layout[at][0]
        return row(parameters=self.words(*pointers))

    def packed(self, data: bytes, *, size_first: bool = False) -> LaunchRow:
        pairs = [(1, self.put(data)), (2, self.words(len(data)))]
        if size_first:
            pairs.reverse()
        return row(packed=self.words(*pairs[0], *pairs[1], 0))


def row(parameters: int = 0, packed: int = 0) -> LaunchRow:
    return tuple(Launch(1, 1, 1, 1, 1, 1, 1, 0, parameters, packed, 0, 0))


@st.composite
def launches(draw: st.DrawFn) -> tuple[Layout, list[list[bytes]], list[list[int]]]:
    """Return a layout, and the values of some launches and how they lie in memory."""
    layout: Layout = []
    end = draw(st.sampled_from([0, 0, 8]))
    for _ in range(draw(st.integers(1, 6))):
        size = draw(st.sampled_from([1, 2, 4, 8, 8, 24, 200]))
        end += draw(st.sampled_from([0, 0, 4, 100]))
        layout.append((end, size))
        end += size
    layout = draw(st.sampled_from([layout, layout[::-1]]))
    count = draw(st.integers(1, 4))
    values = [[draw(st.binary(min_size=s, max_size=s)) for _, s in layout] for _ in range(count)]
    lie = st.lists(st.integers(0, 2), min_size=len(layout), max_size=len(layout))
    alike = draw(lie)
    runs = draw(st.sampled_from([[alike] * count, [draw(lie) for _ in range(count)]]))
    return layout, values, runs


@given(launches())
def test_parameters_wherever_they_lie(
    drawn: tuple[Layout, list[list[bytes]], list[list[int]]],
) -> None:
    layout, values, runs = drawn
    memory = Memory()
    rows = [memory.single(layout, mine, lie) for mine, lie in zip(values, runs, strict=True)]
    found = read_arguments(rows, [layout] * len(rows))
    assert found == [packed(layout, mine) for mine in values]


@pytest.mark.parametrize("size_first", [False, True])
def test_launches_of_every_kind_in_turn(size_first: bool) -> None:
    memory = Memory()
    two: Layout = [(0, 4), (8, 8)]
    one: Layout = [(0, 3)]
    expected: list[bytes | None] = []
    rows: list[LaunchRow] = []
    layouts: list[Layout | None] = []

    def add(launch: LaunchRow, layout: Layout | None, data: bytes | None) -> None:
        rows.append(launch)
        layouts.append(layout)
        expected.append(data)

    for number in range(1, 6):
        values = [bytes([number]) * 4, bytes([number + 100]) * 8]
        add(memory.single(two, values, [0, number % 2]), two, packed(two, values))
        add(memory.packed(bytes([number]) * 50, size_first=size_first), two, bytes([number]) * 50)
        add(memory.packed(b"unknown function"), None, b"unknown function")
        add(memory.single(one, [b"abc"], [0]), one, b"abc")
        add(row(), [], b"")  # each of these has a layout object of its own
        add(row(), two, None)
        add(row(), None, None)
    assert read_arguments(rows, layouts) == expected


def test_packed_lists_that_are_not_complete() -> None:
    memory = Memory()
    size = memory.words(4)
    rows = [
        row(packed=memory.words(0)),
        row(packed=memory.words(1, memory.put(b"data"), 0)),
        row(packed=memory.words(2, size, 0)),
        row(packed=memory.words(*[7, 7] * 4)),  # no end, and no key that is known
    ]
    assert read_arguments(rows, [None] * 4) == [None] * 4


def test_no_launches() -> None:
    assert read_arguments([], []) == []
    assert read_arguments([row(), row()], [[(0, 8)]] * 2) == [None, None]
