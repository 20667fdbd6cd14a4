"""Sections of facts as components."""

from __future__ import annotations

import json
from typing import Any

from dash import html
from dash.development.base_component import Component

from ..facts import Fact, Section
from .attributes import attributes
from .prose import prose

Children = list[Component]
WORDY = 44
"""Values longer than this many characters are sentences: their section is set flush left."""


def section_view(section: Section) -> Component:
    """Return a section: heading, then facts, a table, or the sentence about their absence."""
    parts: list[Any] = [html.H3(section.title, title=section.source or None)]
    if section.absent:
        parts.append(html.P(prose(section.absent), className="absent"))
    if section.facts:
        parts.append(html.Dl([part for fact in section.facts for part in fact_view(fact)]))
    if section.rows:
        parts.append(_table(section))
    wordy = any(fact.label and len(fact.text) > WORDY and not fact.mono for fact in section.facts)
    return html.Section(parts, className="wordy" if wordy else None)


def fact_view(fact: Fact) -> Children:
    """Return one line of a list; the hover text has the exact value and its source."""
    hover = " · ".join(part for part in (fact.exact, fact.source) if part)
    names = "mono" if fact.mono else ""
    if not fact.label:
        return [html.Dd(prose(fact.text), className="whole", title=hover or None)]
    value: list[Any] = [html.Span(prose(fact.text))]
    if fact.copy:
        value.append(copy_button(fact.copy))
    return [html.Dt(fact.label), html.Dd(value, className=names, title=hover or None)]


def fact_head(fact: Fact) -> Component:
    """Return a fact for the band over a page: what it is over what it says."""
    hover = " · ".join(part for part in (fact.exact, fact.source) if part) or None
    value: list[Any] = [html.Span(fact.text, className="mono" if fact.mono else None)]
    if fact.copy:
        value.append(copy_button(fact.copy))
    return html.Div([html.Dt(fact.label), html.Dd(value, title=hover)])


def copy_button(value: str) -> Component:
    """Return a button that copies a text."""
    return html.Button(
        "copy",
        className="copy",
        title="Copy to the clipboard",
        **attributes(data_copy=json.dumps(value)),
    )


def _table(section: Section) -> Component:
    body: Children = []
    for place, row in enumerate(section.rows):
        body.append(html.Tr([html.Td(cell) for cell in row]))
        if place < len(section.notes):
            note = html.Td(section.notes[place], colSpan=len(row))
            body.append(html.Tr(note, className="row-note"))
    return html.Div(
        className="table-scroll",
        children=html.Table(
            [
                html.Thead(html.Tr([html.Th(column) for column in section.columns])),
                html.Tbody(body),
            ],
            title=section.source or None,
        ),
    )
