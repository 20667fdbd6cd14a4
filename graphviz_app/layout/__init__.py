"""Where the nodes of a graph are drawn: pure numpy, no Dash.

`lane_layout` is the whole public surface for the flat picture; the other modules are its
steps: `order` (levels), `chains` (lanes), `pack` (shelves), `bands` (columns), `routes` (edges).
"""

from __future__ import annotations

from .lanes import LaneLayout, lane_layout

__all__ = ["LaneLayout", "lane_layout"]
