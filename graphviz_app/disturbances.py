"""What may have disturbed a measurement: clocks, power, temperature, other processes."""

from __future__ import annotations

from collections.abc import Sequence

from capture.analysis.disturbed import STEADY
from capture.benchmarks import Conditions

from . import format as text


def disturbances(conditions: Conditions | None) -> list[str]:
    """Return what may have disturbed the measurement, as sentences."""
    if conditions is None:
        return ["Clocks, power and temperature were not watched."]
    if conditions.reason:
        return [f"Clocks, power and temperature are not known: {conditions.reason.rstrip('.')}."]
    said = []
    clocks = _known(conditions.sm_clock_mhz)
    if clocks:
        low, high = min(clocks), max(clocks)
        most = conditions.max_sm_clock_mhz
        limit = f", of at most {text.frequency_text(most)}" if most else ""
        if low >= STEADY * high:
            said.append(f"The SM clock was steady at {text.frequency_text(high)}{limit}.")
        else:
            said.append(
                f"The SM clock moved between {text.frequency_text(low)} and "
                f"{text.frequency_text(high)}{limit}: times of different moments do not compare."
            )
    if conditions.throttle_reasons:
        said.append(f"Clocks were held down: {', '.join(conditions.throttle_reasons)}.")
    watts, degrees = _known(conditions.power_mw), _known(conditions.temperature_c)
    if watts:
        said.append(
            f"Power was {text.power_text(min(watts))} to {text.power_text(max(watts))}"
            + (
                f", temperature {text.temperature_text(min(degrees))} to "
                f"{text.temperature_text(max(degrees))}."
                if degrees
                else "."
            )
        )
    if conditions.processes:
        names = ", ".join(
            f"{item.get('name') or 'unnamed'} (pid {item.get('pid', '?')}"
            + (
                f", {text.bytes_text(item['memory_bytes'])})"
                if isinstance(item.get("memory_bytes"), int)
                else ")"
            )
            for item in conditions.processes[:4]
        )
        more = len(conditions.processes) - 4
        said.append(
            f"Other processes were on the device: {names}{f' and {more} more' if more > 0 else ''}."
        )
    elif clocks or watts:
        said.append("No other process was on the device.")
    return said or ["NVML gave no values while it was measured."]


def _known(values: Sequence[int]) -> list[int]:
    return [value for value in values if value >= 0]
