"""A recording whose failed captures are those that the zoo left on a real GPU."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from capture.failures import Facts, classify
from capture.model import Failure, GraphInfo, Metadata, Place, Recording
from tests.failures.scripts import HERE

REPORT = HERE / "report.json"


def entries() -> dict[str, Any]:
    """Return what was seen of each script."""
    found: dict[str, Any] = json.loads(REPORT.read_text(encoding="utf-8"))["scripts"]
    return found


def zoo_recording() -> Recording:
    """Return one failed capture per script; their nodes are not in the report."""
    failed = []
    for name, entry in entries().items():
        facts = msgspec.convert(entry["facts"], Facts)
        verdict = classify(facts)
        frames = facts.first.frames
        file = f"tests/failures/zoo/{name}.py"
        failure = Failure(
            error=facts.surfaced.error,
            message=facts.surfaced.message,
            place=Place(file=file, line=entry["line"], function="<module>"),
            nodes_read=False,
            reason="the report of the zoo holds no nodes",
            kind=verdict.kind,
            confidence=verdict.confidence,
            because=verdict.because,
            alternatives=verdict.alternatives,
            found_by=entry["found_by"],
            call=entry["call"],
            code=facts.code,
            first_error=entry["first_error"],
            thread=entry["thread"],
            stack=[Place(file=f.file, line=f.line, function=f.function) for f in frames],
            facts=entry["facts"],
        )
        failed.append(GraphInfo(key=f"{name}#0", name=name, failure=failure, thread="MainThread"))
    return Recording(Metadata(title="zoo", source="recorded"), [], failed)
