"""What the driver said of an update, where it was asked while the graphs were recorded."""

from __future__ import annotations

import msgspec

from ..errors import FormatError
from ..model import EvidenceKind, Recording
from ..updates import Updates

ASK = "cglens series --ask-driver SCRIPT"
NOT_ASKED = "the driver was not asked"
UNASKED = f"{NOT_ASKED} of updates: "
"""How a recording begins to say why; left out where it stands behind the same words."""


class DriverAnswer(msgspec.Struct, kw_only=True, frozen=True):
    """What a driver said when it was asked.

    Attributes
    ----------
    result : str
        ``CUgraphExecUpdateResult`` without its prefix.
    node, from_node : str
        Paths in the graph after: the node that the driver named, and the one that its dependency
        comes from. Empty where it named none.
    driver : str
        CUDA version of the driver.
    flags : int
        With which the executable was made.
    instantiate_ns, update_ns : int or None
        CPU time of both calls.
    """

    result: str
    node: str = ""
    from_node: str = ""
    driver: str = ""
    flags: int = 0
    instantiate_ns: int | None = None
    update_ns: int | None = None


def driver_answer(
    before: Recording, after: Recording, key: str, key_after: str
) -> tuple[DriverAnswer | None, str]:
    """Return what the driver said of an update from one graph to another, or why it is not known.

    Parameters
    ----------
    before, after : Recording
        One and the same where the driver can have been asked: it was asked in the process that
        captured both graphs.
    key, key_after : str
    """
    if before is not after:
        return None, (
            f"it can be asked only where one process captured both graphs: {ASK} asks of those "
            f"of one script"
        )
    try:
        updates: Updates | None = before.updates(key)
    except FormatError as error:
        return None, f"its answers cannot be read: {error}"
    if updates is None:
        evidence = before.info(key).evidence.get(EvidenceKind.UPDATES)
        reason = evidence.reason if evidence is not None else ""
        return None, reason.removeprefix(UNASKED) or f"{ASK} asks it"
    row = updates.answer(key_after)
    if row is None:
        reason = updates.reasons.get(key_after) or updates.refused
        return None, reason.removeprefix(f"{NOT_ASKED}: ") or (
            "of many graphs it is asked of neighbours and of the first one only"
        )
    return (
        DriverAnswer(
            result=row.result,
            node=row.node,
            from_node=row.from_node,
            driver=_driver_of(before, key),
            flags=updates.flags,
            instantiate_ns=row.instantiate_ns,
            update_ns=row.update_ns,
        ),
        "",
    )


def _driver_of(recording: Recording, key: str) -> str:
    number = recording.info(key).process
    if number is None or not 0 <= number < len(recording.processes):
        return ""
    versions = recording.processes[number].versions
    cuda = versions.get("driver_cuda", "")
    return " ".join(
        text for text in (versions.get("driver", ""), f"(CUDA {cuda})" if cuda else "") if text
    )
