"""What may have disturbed a measurement, as notes of a result."""

from __future__ import annotations

from ..benchmarks import Conditions
from .base import Quantity, Result, Severity, Unit

STEADY = 0.95
"""A clock below this share of its highest is called held down."""


def add_conditions(result: Result, conditions: Conditions | None) -> None:
    """Add what NVML saw while it was measured; something disturbing makes it a notice."""
    if conditions is None or conditions.reason:
        reason = conditions.reason if conditions is not None else "nobody looked"
        result.figures["conditions_unknown"] = Quantity(reason.rstrip("."), Unit.TEXT)
        result.notes.append("Clocks and other processes are not known: {conditions_unknown}.")
        return
    disturbed = False
    clocks = [clock for clock in conditions.sm_clock_mhz if clock > 0]
    highest = conditions.max_sm_clock_mhz
    if clocks and highest:
        result.figures["lowest_clock_share"] = Quantity(min(clocks) / highest, Unit.RATIO)
        if min(clocks) < STEADY * highest:
            below = sum(clock < STEADY * highest for clock in clocks)
            result.figures["samples_below"] = Quantity(below, Unit.COUNT)
            result.figures["clock_samples"] = Quantity(len(clocks), Unit.COUNT)
            result.notes.append(
                "The SM clock was below its highest in {samples_below} of {clock_samples} looks, "
                "at the least {lowest_clock_share} of it."
            )
            disturbed = True
    if conditions.throttle_reasons:
        reasons = ", ".join(conditions.throttle_reasons)
        result.figures["throttle_reasons"] = Quantity(reasons, Unit.TEXT)
        result.notes.append("Clocks were held down: {throttle_reasons}.")
        disturbed = True
    if conditions.processes:
        result.figures["other_processes"] = Quantity(len(conditions.processes), Unit.COUNT)
        result.notes.append("{other_processes} other processes were on the device.")
        disturbed = True
    if disturbed:
        result.severity = Severity.NOTICE
