"""A choice among few or many that is written into the address: the browser's own list."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from .attributes import attributes


def choice(
    field: str,
    options: Sequence[tuple[str, str]],
    value: str,
    label: str,
    title: str = "",
    class_name: str = "",
    also: Mapping[str, Any] | None = None,
) -> Component:
    """Return a list of choices; the browser writes the chosen one into the address.

    Parameters
    ----------
    field : str
        Part of the view that it decides.
    options : sequence of (str, str)
        Value and what is shown for it.
    value : str
        The one that is chosen.
    label : str
        For those who do not see it.
    title, class_name : str
    also : mapping, optional
        Other parts of the view that change with it.
    """
    return html.Div(
        html.Select(
            [html.Option(shown, value=name, selected=name == value) for name, shown in options],
            **attributes(aria_label=label),
        ),
        className=f"choice {class_name}".rstrip(),
        title=title or None,
        **attributes(data_choose=field, **({"data_also": json.dumps(also)} if also else {})),
    )
