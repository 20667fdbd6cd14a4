"""What writes a selection of nodes into the address: a text, a family of kernels, a type."""

from __future__ import annotations

import json

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from capture.analysis import Subject
from capture.measure_request import EACH
from capture.selection import families

from .. import format as text
from ..ids import WhatIfPage
from .attributes import attributes
from .choice import choice

FAMILIES = 400
FAMILY_CHARACTERS = 64
EXAMPLE = "node:3,5 or type:memset or branch:3, joined with +"


def selection_box(asked: str) -> Component:
    """Return the field for a selection."""
    return html.Div(
        dmc.TextInput(
            id=WhatIfPage.ASKED,
            value=asked,
            size="xs",
            placeholder=EXAMPLE,
            debounce=True,
            **attributes(aria_label="Nodes that take no time"),
        ),
        className="choice whatif-asked",
        **attributes(data_choose="view"),
    )


def controls(subject: Subject, asked: str) -> list[Component]:
    """Return what writes a selection: a text, a family of kernels, a type."""
    counts: dict[str, int] = {}
    for name in subject.graph.topology.types:
        counts[name] = counts.get(name, 0) + 1
    durations = subject.durations
    totals = {
        name: (sum(durations[at] or 0 for at in places), len(places))
        for name, places in families(subject.graph).items()
    }
    ranked = sorted(totals, key=lambda name: (-totals[name][0], -totals[name][1]))[:FAMILIES]
    options = [("", "a family of kernels")]
    for name in ranked:
        took, count = totals[name]
        shown = name if len(name) <= FAMILY_CHARACTERS else f"{name[: FAMILY_CHARACTERS - 1]}…"
        tail = f", {text.duration_text(took)}" if took else ""
        options.append((f"family:{name}", f"{shown} ({count:,}{tail})"))
    family = asked if asked in dict(options) else ""
    types = sorted(counts, key=lambda name: -counts[name])
    return [
        selection_box(asked),
        choice("view", options, family, "Family of kernels", class_name="whatif-family"),
        html.Div(
            [
                html.Button(
                    [
                        f"all {text.type_text(name)} ",
                        html.Span(f"{counts[name]:,}", className="count"),
                    ],
                    className="legend-entry",
                    **attributes(
                        data_go=json.dumps({"view": f"type:{name}"}),
                        aria_pressed=str(asked == f"type:{name}").lower(),
                    ),
                )
                for name in types
            ]
            + [
                html.Button(
                    "each above 1 %",
                    className="legend-entry",
                    title="Every node above 1 % of the makespan, one after another",
                    **attributes(
                        data_go=json.dumps({"view": EACH}), aria_pressed=str(asked == EACH).lower()
                    ),
                )
            ],
            className="whatif-types",
        ),
    ]
