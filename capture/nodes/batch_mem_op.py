"""Batches of stream memory operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from .base import Category, NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reader import Reader


class BatchMemOpPayload(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Waits and writes of single words, in order."""

    operations: list[dict[str, Any]] = msgspec.field(default_factory=list)
    """``{"operation": "write_value_32", "address": ..., "value": ..., "flags": ...}`` each."""
    flags: int | None = None


# CUstreamBatchMemOpType.
OPERATIONS = {
    1: "wait_value_32",
    2: "write_value_32",
    3: "flush_remote_writes",
    4: "wait_value_64",
    5: "write_value_64",
    6: "barrier",
    8: "atomic_reduction",
}


def decode(reader: Reader, handles: Sequence[int]) -> list[BatchMemOpPayload | None]:
    """Read ``cuGraphBatchMemOpNodeGetParams`` of every node."""
    with reader.phase("batch mem ops"):
        found = reader.values(reader.driver.memory_operations(handles), handles)
    return [
        None
        if batch is None
        else BatchMemOpPayload(
            operations=[
                {**fields, "operation": operation_name(fields["operation"])}
                for fields in batch.operations
            ],
            flags=batch.flags,
        )
        for batch in found
    ]


def operation_name(number: int) -> str:
    """Return the name of a ``CUstreamBatchMemOpType``; unknown ones keep their number."""
    return OPERATIONS.get(number, f"operation_{number}")


def label(payload: BatchMemOpPayload | None) -> str:
    """Name the operation, or count them when there are several."""
    operations = payload.operations if payload is not None else []
    if len(operations) == 1:
        return str(operations[0].get("operation", "batch mem op")).replace("_", " ")
    return f"{len(operations)} memory operations" if operations else "batch mem op"


NODE_TYPE = NodeType(
    name="batch_mem_op",
    number=12,
    category=Category.SYNCHRONISATION,
    payload=BatchMemOpPayload,
    label=label,
    decode=decode,
    dot_names=("BATCH_MEM_OP",),
    description="waits for and writes of single words of memory",
)
