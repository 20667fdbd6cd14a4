"""Kernels that do the same work another way, as autotuning may choose anew in each run."""

from __future__ import annotations

from .changes import NodeChange
from .fields import COMPILED

VARIANTS = (
    "All nodes that differ run another kernel for the same operator, or the same Triton kernel "
    "compiled with other tiles, as autotuning may choose anew in each run. By operators and "
    "arguments nothing else differs; results may differ in rounding."
)
TUNED = frozenset({"grid", "block", "dynamic_shared_bytes", *COMPILED})
"""What differs between two configurations of one Triton kernel with the same arguments."""


def is_variant(change: NodeChange) -> bool:
    """Say whether a node does the same by name and arguments, or by its recorded operator.

    What kernels compute is not looked into, so this is told and still counts as a change.
    """
    if change.kind != "changed":
        return False
    if change.swapped:
        return bool(change.operator)
    return (
        change.name_before.startswith("triton_")
        and change.name_before == change.name_after
        and all(item.field in TUNED for item in change.fields)
    )
