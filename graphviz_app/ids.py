"""Ids of everything a callback or a stylesheet refers to."""

from __future__ import annotations

from enum import StrEnum


class Shell(StrEnum):
    """The frame around every page."""

    PROVIDER = "provider"
    URL = "url"
    PREFIX = "prefix"
    PLACE = "place"
    """Page, recording, graph and body: what the page is built from."""
    FOCUS = "focus"
    """Place and node: what the details panel is built from."""
    QUERY = "query"
    """Place and search text: what matches are computed from."""
    MATCHES = "matches"
    PLACES = "places"
    """Per page, the parts of a view that it is built from."""
    RUN_SELECT = "replay-select"
    SELECT = "canvas-select"
    ENTER = "canvas-enter"
    CONTEXT = "context"
    RECORDING = "recording"
    GRAPH = "graph-picker"
    GRAPH_BOX = "graph-box"
    PREVIOUS = "previous-graph"
    NEXT = "next-graph"
    SEARCH = "search"
    SEARCH_COUNT = "search-count"
    SEARCH_PREVIOUS = "search-previous"
    SEARCH_NEXT = "search-next"
    EXPORT = "export"
    THEME = "theme"
    HELP = "help"
    HELP_OPEN = "help-open"
    RAIL = "rail"
    CONTENT = "content"
    DETAILS = "details"
    PROBLEM = "problem"


class Overview(StrEnum):
    """The page of a recording."""

    BOX = "graphs-box"
    GRAPHS = "graphs-table"
    TIMELINE = "timeline"


class GraphPage(StrEnum):
    """The page of a graph."""

    HOST = "canvas-host"
    SCENE = "scene"
    COLOUR = "colour"
    LEGEND = "legend"
    CRUMBS = "crumbs"
    TABLE_OPEN = "nodes-open"
    TABLE_BOX = "nodes-box"
    TABLE = "nodes-table"
    STRIP = "replay-strip"
    REPLAY = "replay"


class TimelinePage(StrEnum):
    """The page of the sample replay."""

    HOST = "replay-host"
    REPLAY = "replay-page"
    CHART = "replays-chart"


class KernelsPage(StrEnum):
    """The page of kernels."""

    VIEW = "kernels-view"
    FAMILIES = "families-table"
    LAUNCHES = "launches-table"
    NODES = "kernels-table"


class AnalysesPage(StrEnum):
    """The page of what analyses found."""

    LIST = "analyses-list"
    SHOWN = "analysis-shown"
    TICK = "analyses-tick"
    TABLE = "analysis-table"
    SERIES = "analysis-series"


class FindingsPage(StrEnum):
    """The page of findings of all graphs."""

    LINE = "findings-line"
    KINDS = "findings-kinds"
    TABLE = "findings-table"
    TICK = "findings-tick"
    SHOWN = "findings-shown"


class BenchmarksPage(StrEnum):
    """The page of replays of our own."""

    START = "bench-start"
    CANCEL = "bench-cancel"
    PROGRESS = "bench-progress"
    TICK = "bench-tick"
    DONE = "bench-done"
    CURVE = "bench-curve"
    SPLIT = "bench-split"
    STATE = "bench-state"
    SAMPLES = "bench-samples"
    GRAPHS = "bench-graphs"
    NODES = "bench-nodes"


class WhatIfPage(StrEnum):
    """The page of what nodes would gain if they took no time."""

    START = "whatif-start"
    CANCEL = "whatif-cancel"
    PROGRESS = "whatif-progress"
    TICK = "whatif-tick"
    DONE = "whatif-done"
    ASKED = "whatif-asked"
    CHART = "whatif-chart"
    GAINS = "whatif-gains"
    EACH = "whatif-each"


class MemoryPage(StrEnum):
    """The page of memory."""

    MAP = "memory-map"
    CHART = "memory-chart"
    LIFETIMES = "memory-lifetimes"
    POOL = "memory-pool"
    BLOCKS = "memory-blocks"
    POOLS = "memory-pools"


class ModulesPage(StrEnum):
    """The page of modules."""

    TABLE = "modules-table"


class OperatorsPage(StrEnum):
    """The page of operators."""

    TABLE = "operators-table"


class ComparePage(StrEnum):
    """The page of a comparison."""

    ASKED = "compare-asked"
    """What is still to be compared; empty when the page was built with it."""
    BODY = "compare-body"
    TICK = "compare-tick"
    PAIRS = "compare-pairs"
    PROGRESS = "compare-progress"
    SHOWN = "compare-shown"
    CHANGES = "compare-changes"


class SourcePage(StrEnum):
    """The page of source lines."""

    FILES = "source-files"
    CODE = "source-lines"
