"""Facts as plain data: what the details panel shows, before it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from capture.model import Evidence, EvidenceKind, GraphInfo, Place

from . import format as text
from .fields import Shown, show


@dataclass(frozen=True)
class Fact:
    """One line: what it is, what it says, the exact value, where it came from."""

    label: str
    text: str
    exact: str = ""
    source: str = ""
    mono: bool = False
    copy: str = ""
    """What a copy button puts on the clipboard; no button when empty."""

    @classmethod
    def of(cls, shown: Shown, source: str = "") -> Fact:
        """Return a fact from a formatted field."""
        return cls(shown.label, shown.text, shown.exact, source, shown.mono)


@dataclass(frozen=True)
class Section:
    """A heading with facts, or with the sentence that says why there are none."""

    title: str
    facts: list[Fact] = field(default_factory=list)
    absent: str = ""
    columns: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """One line below each row; empty for none."""
    source: str = ""


FROM_DRIVER = "read from the driver"
FROM_RECORDER = "measured by the recorder"


def source_of(info: GraphInfo, kind: EvidenceKind, default: str) -> str:
    """Return how a kind of evidence was obtained."""
    evidence = info.evidence.get(kind)
    return evidence.how if evidence is not None and evidence.how else default


def absence(evidence: Mapping[str, Evidence], kind: EvidenceKind, what: str) -> str:
    """Return why something is not known, as a sentence."""
    entry = evidence.get(kind)
    if entry is not None and not entry.present and entry.reason:
        return f"{what}: {entry.reason.rstrip('.')}."
    return f"{what}: this recording does not say."


def place_text(place: Place | None) -> str:
    """Return a place in source as ``file:line function``.

    Examples
    --------
    >>> place_text(Place(file="train.py", line=12, function="step"))
    'train.py:12 in step'
    """
    if place is None:
        return text.ABSENT
    return f"{place.file}:{place.line}" + (f" in {place.function}" if place.function else "")


def extra_section(extra: Mapping[str, Any]) -> list[Section]:
    """Return what was read and not understood, field by field."""
    if not extra:
        return []
    facts = [
        Fact.of(show(str(name), value), "kept as it was read") for name, value in extra.items()
    ]
    return [Section("Other fields", facts)]
