"""Which executable's timings are shown, where a graph has several that were traced."""

from __future__ import annotations

from dash.development.base_component import Component

from .. import format as text
from ..context import Context
from ..subjects import shown_timings
from .choice import choice


def picker(context: Context) -> list[Component]:
    """Return the choice of executables as a list to put somewhere; empty when there is none."""
    state, store = context.state, context.store
    recording = store.get(state.recording).recording
    timed = set(recording.timed)
    found = [item for item in recording.executables_of(state.graph) if item.id in timed]
    if len(found) < 2:
        return []
    with store.reading:
        first, _ = shown_timings(recording, state.graph)
    default = first.id if first is not None else found[0].id
    known = {item.id for item in found}
    options = [
        (
            "" if item.id == default else item.id,
            f"executable {item.id}, {text.counted(item.replays, 'replay')}"
            + (", traced most" if item.id == default else ""),
        )
        for item in found
    ]
    chosen = state.executable if state.executable in known - {default} else ""
    return [choice("executable", options, chosen, "Executable", WHY)]


WHY = "This graph was instantiated several times; each executable has its own timings"
