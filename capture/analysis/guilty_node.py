"""Finding: the first node with which a replay was seen to go wrong, by `cglens locate`."""

from __future__ import annotations

from ..errors import FormatError
from ..located import Located, stored
from .base import Analysis, Column, Result, Severity, Unit
from .pointed_at import position_of
from .subject import Subject

COLUMNS = [
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("symptom", Unit.TEXT),
    Column("replay", Unit.COUNT),
    Column("what was seen", Unit.TEXT),
    Column("confidence", Unit.TEXT),
]
NOT_SOUGHT = (
    "no guilty node was looked for: `cglens locate -o FILE` runs a workload whose replay goes "
    "wrong, and keeps what it finds"
)


def run(subject: Subject) -> Result:
    """Tell which node a search came to."""
    if subject.path:
        return Result.absent("only whole graphs are looked at, not bodies")
    try:
        found = stored(subject.info.extra) if subject.info is not None else None
    except FormatError as error:
        return Result.absent(str(error))
    if found is None:
        return Result.absent(NOT_SOUGHT)
    result = Result(columns=COLUMNS, mark_name="guilty of a replay that went wrong")
    result.notes = list(found.notes)
    if not found.node:
        result.summary = f"No guilty node was found: {found.reason or 'it is not known why'}."
        return result
    _tell(subject, found, result)
    return result


def _tell(subject: Subject, found: Located, result: Result) -> None:
    head = position_of(found.node) if found.node.partition("/")[0].isdecimal() else -1
    known = 0 <= head < len(subject.graph)
    result.rows.append(
        (
            found.node,
            subject.label(head) if known else "",
            found.symptom,
            found.replay + 1,
            found.detail,
            "certain" if found.decided else "likely",
        )
    )
    result.node_marks = [head] if known else []
    result.severity = Severity.WARNING if found.decided else Severity.NOTICE
    result.summary = (
        f"Replay {found.replay + 1} went wrong ({found.symptom}) first with node {found.node}; "
        f"{len(found.runs)} runs were made to see that."
    )


ANALYSIS = Analysis(
    name="guilty_node",
    title="Node with which a replay went wrong",
    description="Which node `cglens locate` found guilty of a fault, a hang, NaN or other values.",
    run=run,
    finding=True,
)
