"""Fields of two sides, before beside after, under their headings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..facts import Section
from ..format import ABSENT


@dataclass(frozen=True, slots=True)
class Row:
    """One field of both sides; ``None`` where a side has none."""

    label: str
    before: str | None
    after: str | None
    hint: str = ""
    note: str = ""
    """What to think of the difference, such as that it is within the noise."""
    loud: bool = False
    """Whether the comparison counts it as a change."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A heading with fields, or with the reason why there are none."""

    title: str
    rows: list[Row] = field(default_factory=list)
    absent: str = ""


def side_by_side(before: Iterable[Section], after: Iterable[Section]) -> list[Sheet]:
    """Set the sections of two nodes against each other, by title and label.

    Examples
    --------
    >>> from graphviz_app.facts import Fact
    >>> one = Section("Launch", [Fact("grid", "2 x 1"), Fact("block", "64")])
    >>> other = Section("Launch", [Fact("grid", "4 x 1"), Fact("cluster", "2")])
    >>> [(row.label, row.before, row.after) for row in side_by_side([one], [other])[0].rows]
    [('grid', '2 x 1', '4 x 1'), ('block', '64', None), ('cluster', None, '2')]
    """
    left = {section.title: section for section in before}
    right = {section.title: section for section in after}
    found = []
    for title in dict.fromkeys([*left, *right]):
        sides = left.get(title), right.get(title)
        one, other = (dict(_lines(side)) if side is not None else {} for side in sides)
        hints = {
            fact.label: fact.source
            for side in sides
            if side is not None
            for fact in side.facts
            if fact.source
        }
        rows = [
            Row(label, one.get(label), other.get(label), hints.get(label, ""))
            for label in dict.fromkeys([*one, *other])
        ]
        absent = " ".join(dict.fromkeys(side.absent for side in sides if side and side.absent))
        found.append(Sheet(title, rows, absent))
    return found


def _lines(section: Section) -> Iterator[tuple[str, str]]:
    for fact in section.facts:
        if fact.label:
            yield fact.label, fact.text
    for number, row in enumerate(section.rows):
        note = section.notes[number] if number < len(section.notes) else ""
        value = " ".join(part for part in row[2:] if part) or ABSENT
        readable = value if len(row) > 2 and row[2] else note or value
        yield f"{section.columns[0]} {row[0]}", readable
