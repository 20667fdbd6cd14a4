"""What an H200's driver answered of each pair of :mod:`tests.helpers.update_pairs`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from capture.compare import UpdateVerdict

REPORT = Path(__file__).resolve().parent / "update_report.json"
ENVIRONMENT = ("commit", "python", "versions", "cuda_driver", "gpus", "display_driver")

_FUNCTION = (
    "recordings do not tell whether a function {}; the verdict names it among what was not checked"
)
_CONTEXT = (
    "recordings tell the device that a graph was captured on, not the contexts of its functions "
    "and memory, of which a device may have several; the verdict names them among what was not "
    "checked"
)
EXPLAINED: dict[str, str] = {
    "kernel, function launches kernels": _FUNCTION.format("launches kernels from the device"),
    "kernel, function launches graphs": _FUNCTION.format("launches graphs from the device"),
    "kernel, function changes nodes": _FUNCTION.format("changes nodes from the device"),
    "kernel, function of another context": _CONTEXT,
    "memcpy, memory of another context": _CONTEXT,
    "memset, memory of another context": _CONTEXT,
    "dependencies made in another order": "recordings keep the dependencies of a node in the "
    "order of nodes, not in that of making; the verdict names it among what was not checked",
}
"""Pairs of which something else is predicted than the driver answers, and why."""

UNASKED = {
    "external semaphores": "to import one takes another API, such as Vulkan's, which the machine "
    "does not have; the rule is checked without a driver only",
}
"""What no pair asks the driver."""


def entry_of(name: str, verdict: UpdateVerdict, answer: str, node: str) -> dict[str, Any]:
    """Return what the report holds of one pair."""
    violations = verdict.violations
    entry: dict[str, Any] = {
        "predicted": verdict.result,
        "driver": answer,
        "agrees": verdict.result == answer,
    }
    if violations:
        entry["rules"] = list(dict.fromkeys(item.rule for item in violations))
        entry["predicted_nodes"] = sorted({item.after or "" for item in violations})[:4]
    if node:
        entry["node"] = node
    if name in EXPLAINED:
        entry["explanation"] = EXPLAINED[name]
    return entry
