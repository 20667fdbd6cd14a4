"""Links: to other views of the dashboard, and into an editor."""

from __future__ import annotations

import json
from typing import Any

from dash import html
from dash.development.base_component import Component

from ..context import Context
from .attributes import attributes


def go_link(context: Context, label: Any, changes: dict[str, Any], **props: Any) -> Component:
    """Return a link that changes a part of the view; its address is that view's, for copying."""
    href = context.url(context.state.but(**changes))
    return html.A(label, href=href, **attributes(data_go=json.dumps(changes)), **props)


def editor_link(context: Context, file: str, line: int, path: str = "") -> Component | None:
    """Return a link that opens a line in the editor; ``None`` where none is configured."""
    address = context.store.sources.link(file, line, path)
    if not address:
        return None
    return html.A(
        "edit", href=address, className="copy", title=f"Open {path or file} in the editor"
    )
