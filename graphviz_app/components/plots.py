"""How plotly's charts behave here: no upload, no logo, no tool bar."""

from __future__ import annotations

from typing import Any

PLOT_CONFIG: Any = {
    "displaylogo": False,
    "showSendToCloud": False,
    "scrollZoom": True,
    "displayModeBar": False,
    "responsive": True,
}

STILL_PLOT_CONFIG: Any = {**PLOT_CONFIG, "scrollZoom": False}
"""Of charts on a page that scrolls: the wheel is the page's, a drag still zooms."""
