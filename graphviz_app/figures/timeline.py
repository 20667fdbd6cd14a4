"""The timeline of a recording: captures, instantiates, replays and the rest, in lanes of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capture.model import Event, EventKind, GraphInfo

from .. import format as text

COLOURS: dict[str, str] = {
    EventKind.CAPTURE: "#0072B2",
    EventKind.CAPTURE_FAILED: "#D55E00",
    EventKind.INSTANTIATE: "#E69F00",
    EventKind.UPDATE: "#CC79A7",
    EventKind.UPLOAD: "#8C6BB1",
    EventKind.REPLAY: "#009E73",
    EventKind.RESET: "#999999",
    EventKind.DESTROY: "#666666",
}
OTHER = "#8A8F98"
GRAPH_LANES = 16
"""With more graphs than this, lanes are kinds of events and not graphs."""
TICKS = 1_500
"""Events nearer than this share of the span are drawn as one bar with their number."""


@dataclass(frozen=True)
class Bars:
    """What is drawn in one lane for one kind: parallel columns."""

    lane: str
    kind: str
    start_ns: NDArray[np.int64]
    stop_ns: NDArray[np.int64]
    events: NDArray[np.int64]
    """Events in each bar."""
    total: NDArray[np.int64]
    """What they count: replays of replay events, else events."""
    busy_ns: NDArray[np.int64]


def lane_of(events: Sequence[Event], graphs: Mapping[str, GraphInfo]) -> Mapping[str, str]:
    """Return the lane of each graph key, or nothing when lanes are to be kinds of events."""
    keys = list(dict.fromkeys(event.graph for event in events if event.graph))
    if not keys or len(keys) > GRAPH_LANES:
        return {}
    names: dict[str, str] = {}
    for key in keys:
        name = graphs[key].name if key in graphs else key
        taken = set(names.values())
        number = 2
        unique = name
        while unique in taken:
            unique = f"{name} ({number})"
            number += 1
        names[key] = unique
    return names


def bars(events: Sequence[Event], graphs: Mapping[str, GraphInfo]) -> list[Bars]:
    """Group events into lanes and merge what could not be told apart on a screen.

    Parameters
    ----------
    events : sequence of Event
    graphs : mapping of str to GraphInfo
        For the names of lanes.
    """
    lanes = lane_of(events, graphs)
    groups: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        lane = lanes.get(event.graph, "other") if lanes else text.type_text(event.kind)
        groups.setdefault((lane, event.kind), []).append(event)
    first = min((event.start_ns for event in events), default=0)
    last = max((event.start_ns + event.duration_ns for event in events), default=0)
    tick = max((last - first) // TICKS, 1)
    return [_merge(lane, kind, group, tick) for (lane, kind), group in groups.items()]


def _merge(lane: str, kind: str, events: list[Event], tick_ns: int) -> Bars:
    start = np.array([event.start_ns for event in events], np.int64)
    duration = np.array([event.duration_ns for event in events], np.int64)
    count = np.array([event.count for event in events], np.int64)
    order = np.argsort(start, kind="stable")
    start, duration, count = start[order], duration[order], count[order]
    reach = np.maximum.accumulate(start + duration)
    fresh = np.ones(len(start), np.bool_)
    fresh[1:] = start[1:] > reach[:-1] + tick_ns
    begins = np.flatnonzero(fresh)
    ends = np.append(begins[1:], len(start)) - 1
    return Bars(
        lane,
        kind,
        start[begins],
        reach[ends],
        np.diff(np.append(begins, len(start))),
        np.add.reduceat(count, begins),
        np.add.reduceat(duration, begins),
    )


def figure(events: Sequence[Event], graphs: Mapping[str, GraphInfo]) -> dict[str, Any]:
    """Return the timeline as a plotly figure.

    Each bar is at least as wide as one step of the screen, so that a capture of a microsecond
    in a run of an hour can still be seen and pointed at.
    """
    groups = bars(events, graphs)
    first = min((int(group.start_ns[0]) for group in groups), default=0)
    last = max((int(group.stop_ns.max()) for group in groups), default=1)
    span = max(last - first, 1)
    unit, scale = text.time_unit(span)
    lanes = list(dict.fromkeys(group.lane for group in groups))
    traces = []
    for group in groups:
        width = np.maximum(group.stop_ns - group.start_ns, span / (TICKS / 3))
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": text.type_text(group.kind),
                "y": [group.lane] * len(group.start_ns),
                "base": (group.start_ns / scale).tolist(),
                "x": (width / scale).tolist(),
                "width": 0.6,
                "marker": {"color": COLOURS.get(group.kind, OTHER), "line": {"width": 0}},
                "hovertext": _hover(group),
                "hoverinfo": "text",
            }
        )
    margin = span * 0.01
    return {
        "data": traces,
        "layout": {
            "barmode": "overlay",
            "height": height(len(lanes)),
            "margin": {"l": _label_width(lanes), "r": 8, "t": 4, "b": 40},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hovermode": "closest",
            "dragmode": "pan",
            "showlegend": False,
            "xaxis": {
                "title": {
                    "text": f"time since the recording started ({unit})",
                    "standoff": 6,
                    "font": {"size": 12},
                },
                "range": [(first - margin) / scale, (last + margin) / scale],
                "zeroline": False,
                "showgrid": True,
                "tickfont": {"size": 12},
            },
            "yaxis": {
                "fixedrange": True,
                "showgrid": False,
                "categoryorder": "array",
                "categoryarray": lanes[::-1],
                "ticksuffix": "  ",
                "tickfont": {"size": 12},
                "ticktext": [_short(lane) for lane in lanes],
                "tickvals": lanes,
            },
            "font": {"size": 12},
        },
    }


def height(lanes: int) -> int:
    """Return the height of the figure in pixels."""
    return 52 + 20 * max(lanes, 1)


def legend(events: Sequence[Event]) -> list[tuple[str, str, int]]:
    """Return each kind of event with its colour and number, replays counted one by one."""
    counts: dict[str, int] = {}
    for event in events:
        counts[event.kind] = counts.get(event.kind, 0) + event.count
    return [
        (text.type_text(kind), COLOURS.get(kind, OTHER), count) for kind, count in counts.items()
    ]


def _label_width(lanes: Sequence[str]) -> int:
    """Reserve room for the labels: plotly's own measuring cuts them off when it resizes."""
    return 16 + 7 * max((len(_short(lane)) for lane in lanes), default=0)


def _short(lane: str) -> str:
    return lane if len(lane) <= 36 else f"{lane[:17]}…{lane[-18:]}"


def _hover(group: Bars) -> list[str]:
    kind = text.type_text(group.kind)
    lines = []
    for start, stop, events, total, busy in zip(
        group.start_ns.tolist(),
        group.stop_ns.tolist(),
        group.events.tolist(),
        group.total.tolist(),
        group.busy_ns.tolist(),
        strict=True,
    ):
        many = text.counted(total, kind)
        took = text.duration_text(stop - start)
        inside = (
            "" if events == 1 else f" ({text.counted(events, 'event')}, {text.duration_text(busy)})"
        )
        lines.append(
            f"{_escaped(group.lane)}<br>{many}{inside}<br>"
            f"from {text.duration_text(start)}, took {took}"
        )
    return lines


def _escaped(value: str) -> str:
    """Names come from files; plotly reads a few tags in hover texts."""
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
