"""Search in a graph."""

from __future__ import annotations

import pytest

from graphviz_app.picture import Picture
from graphviz_app.search import term
from tests.helpers import synthetic

GRAPH = synthetic.with_bodies()
PICTURE = Picture(GRAPH)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", []),
        ("   ", []),
        ("nvjet", [0]),
        ("NVJET", [0]),
        ("elementwise", [3]),
        ("vectorized kernel", [3]),
        ("_ZN2at6native29", [3]),
        ("type:kernel", [0, 3]),
        ('type:"mem alloc"', [2]),
        ("type:mem", [2, 4]),
        ("kernel nvjet", [0]),
        ("#5", [5]),
        ("5", [5]),
        ("#99", []),
        ("nothing at all", []),
        ('"open quote', []),
        ("type:", []),
        ("lane:0", sorted(i for i in range(7) if PICTURE.layout.lane[i] == 0)),
    ],
)
def test_queries(query: str, found: list[int]) -> None:
    assert PICTURE.index.find(query).tolist() == found


@pytest.mark.parametrize("field", ["type", "kernel", "lane"])
def test_each_legend_entry_finds_as_many_nodes_as_it_counts(field: str) -> None:
    picture = Picture(synthetic.layers(5))
    for entry in picture.colourings[field].legend:
        assert len(picture.index.find(term(field, entry.name))) == entry.count


def test_numbers_inside_names_are_found_too() -> None:
    picture = Picture(synthetic.chain(3))
    assert picture.index.find("sm90").tolist() == [2]
    assert picture.index.find("512 reduce").tolist() == [1]
