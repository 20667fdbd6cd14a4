"""Finding: a host node whose function may be gone when the graph is replayed."""

from __future__ import annotations

from ..noticed import HOST_OWNERS, HostOwner, noticed_in
from .base import Analysis, Cell, Column, Quantity, Result, Severity, Unit
from .record_stream import line_of
from .subject import Subject

COLUMNS = [
    Column("node", Unit.NODE),
    Column("function", Unit.TEXT),
    Column("owner", Unit.TEXT),
    Column("what", Unit.TEXT),
    Column("gone at", Unit.TEXT),
    Column("user data", Unit.TEXT),
    Column("confidence", Unit.TEXT),
]
WHY = (
    "A graph keeps the address of a host function and of its user data, and no reference to what "
    "owns them. A ctypes callback is code that is freed with its Python object; calling it then "
    "crashes the process, or runs something else. Keep the callback, and what its user data points "
    "at, for as long as the graph, or hand them over with cuGraphRetainUserObject."
)
DATA = (
    "What the user data points at is not known, so nothing is said about who owns that, except for "
    "cuda.bindings, which hands a callback of the script over that way. Other functions of "
    "libraries count as kept."
)
BINDINGS = (
    "cuLaunchHostFunc and cudaLaunchHostFunc of cuda.bindings put a function of their own in "
    "between, which frees its user data once it was called. With cuda.bindings 13.3.1 on an H200 "
    "the second replay ended the process with a segmentation fault. Give CUDA the callback's own "
    "address instead: with cuGraphAddHostNode, or with cuLaunchHostFunc through ctypes."
)
ONCE = "cuda.bindings frees its user data at the first call, and a second replay uses it"
FREED = "cuda.bindings freed its user data at the first call, and another replay uses it"
DIED_BEFORE = "its owner died before a replay"
NO_OWNER = "no living object that CUDA could call has this address"


def run(subject: Subject) -> Result:
    """Look at every host node: whose code it calls, and what became of the owner. O(nodes)."""
    noticed = noticed_in(subject.info)
    owners: dict[int, HostOwner] = {}
    behind: dict[int, HostOwner] = {}
    watched = noticed is not None and not noticed.unknown(HOST_OWNERS)
    if noticed is not None:
        called = [item for item in noticed.owners if item.kind == "function"]
        owners = {item.address: item for item in called if not item.through}
        behind = {item.through: item for item in called if item.through}
    result = Result(columns=COLUMNS, mark_name="calling a function that may be gone")
    marks: set[int] = set()
    unread = nodes = unknown = 0
    for path, level in subject.graph.walk(subject.path):
        for position, type_ in enumerate(level.topology.types):
            if type_ != "host":
                continue
            nodes += 1
            payload = level.payloads[position]
            if payload is None or payload.function_address is None:
                unread += 1
                continue
            owner = behind.get(payload.user_data_address or 0)
            if owner is None and (payload.symbol or payload.library):
                continue  # code of a library, which stays
            node = f"{path}/{position}" if path else str(position)
            owner = owner or owners.get(payload.function_address)
            wrapped = owner is not None and owner.through != 0
            if owner is not None and owner.owner and not owner.gone and not wrapped:
                continue
            if owner is None and not watched:
                unknown += 1
                continue
            gone = owner is not None and owner.gone
            later = owner is not None and owner.replays_after > 0
            what = NO_OWNER
            if gone:
                what = DIED_BEFORE if later else "its owner died"
            elif owner is not None and wrapped and owner.owner:
                gone = owner.data_gone
                what = FREED if gone else ONCE
            row: tuple[Cell, ...] = (
                node,
                f"0x{owner.address if owner is not None else payload.function_address:x}",
                owner.owner if owner is not None else "",
                what,
                line_of(owner.gone_at) if owner is not None else "",
                f"0x{payload.user_data_address:x}" if payload.user_data_address else "none",
                "certain" if gone else "likely",
            )
            result.rows.append(row)
            relative = node[len(subject.path) + 1 :] if subject.path else node
            marks.add(int(relative.partition("/")[0]))
    if unknown and not result.rows:
        return Result.absent(
            "who owns the functions of host nodes is not known: they are in no library, and their "
            "owners are looked for only while a capture is recorded"
        )
    if unread and not result.rows:
        return Result.absent(f"{unread} host nodes were not read: what they call is not known")
    result.figures = {
        "host_nodes": Quantity(nodes, Unit.COUNT),
        "nodes": Quantity(len(result.rows), Unit.COUNT),
    }
    result.node_marks = sorted(marks)
    if not nodes:
        result.summary = "The graph calls no host function."
    elif not result.rows:
        result.summary = "All {host_nodes} host nodes call functions whose owners were there."
        result.notes.append(DATA)
    else:
        replayed = any(row[3] in (DIED_BEFORE, FREED) for row in result.rows)
        result.severity = Severity.WARNING if replayed else Severity.NOTICE
        result.summary = (
            "{nodes} of {host_nodes} host nodes call a function that may be gone by then."
        )
        through = any(row[3] in (ONCE, FREED) for row in result.rows)
        own = any(row[3] not in (ONCE, FREED) for row in result.rows)
        result.notes += [*([BINDINGS] if through else []), *([WHY] if own else []), DATA]
    return result


ANALYSIS = Analysis(
    name="host_functions",
    title="Host functions without an owner",
    description="Which host nodes call a function whose owner is gone, or may be.",
    run=run,
    finding=True,
)
