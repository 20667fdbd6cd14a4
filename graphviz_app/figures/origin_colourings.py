"""Colours by where nodes come from: module, operator, phase, source file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from capture.origin_index import OriginIndex
from capture.origins import PHASES, Module

from ..origin_text import PHASE_NAMES, class_text, listed, module_text, short_files
from .colourings import PALETTE, REST
from .scene import Colouring, LegendEntry

NONE = "#B9BDC4"
"""Colour of nodes that have no such origin."""
SEVERAL = "#6B7079"
"""Colour of fused kernels that belong to several."""
PHASE_COLOURS = (NONE, "#0072B2", "#E69F00", "#009E73")
MOST_GROUPS = 48
FEWEST_GROUPS = 3
BULK = 0.6
"""A group with more than this share of the nodes is opened, if the legend has room for it."""


def origin_colourings(index: OriginIndex) -> list[Colouring]:
    """Return every colouring by origin."""
    return [by_module(index), by_operator(index), by_phase(index), by_source(index)]


def module_groups(index: OriginIndex) -> tuple[list[int], set[int]]:
    """Return the modules that nodes are coloured by in the order of the model, and the opened ones.

    They start with the outermost modules; those that hold the bulk of the nodes are opened until a
    model's layers stand apart. None is inside another, but for what an opened one launches itself.
    """
    counts = [0] * len(index.modules)
    children: dict[int, list[int]] = {}
    for modules, nodes in Counter(index.node_modules).items():
        for above in {above for at in modules for above in index.ancestors[at]}:
            counts[above] += nodes
    for at, module in enumerate(index.modules):
        if counts[at]:
            children.setdefault(module.parent, []).append(at)
    groups = children.get(-1, [])
    total = sum(counts[at] for at in groups)
    opened: set[int] = set()
    while True:
        found = [at for at in groups if at not in opened and children.get(at)]
        if len(groups) - len(opened) >= FEWEST_GROUPS:
            found = [at for at in found if counts[at] > BULK * total]
        largest = max(found, key=lambda at: counts[at], default=-1)
        if largest < 0 or len(groups) + len(children[largest]) > MOST_GROUPS:
            return groups, opened
        opened.add(largest)
        place = groups.index(largest)
        groups = [*groups[: place + 1], *children[largest], *groups[place + 1 :]]


def by_module(index: OriginIndex) -> Colouring:
    """Colour nodes by the parts of the model, in its order: a module keeps its colour."""
    groups, opened = module_groups(index)
    place = {module: at for at, module in enumerate(groups)}
    of_module = [
        next((place[above] for above in reversed(line) if above in place), -1)
        for line in index.ancestors
    ]
    names = [_module_name(index.modules[module], module in opened) for module in groups]
    known = {
        modules: _single([of_module[at] for at in modules]) if modules else -1
        for modules in set(index.node_modules)
    }
    keys = [known[modules] for modules in index.node_modules]
    colours = [PALETTE[at % len(PALETTE)] for at in range(len(groups))]
    return _colouring("module", "Module", keys, names, colours, "no module")


def _module_name(module: Module, itself: bool) -> str:
    """Return a module's path; a number alone says nothing, so its class stands beside it."""
    name = module_text(module)
    if name.isdecimal() and module.class_name:
        name = f"{name} {class_text(module.class_name)}"
    return f"{name} (itself)" if itself else name


def by_operator(index: OriginIndex) -> Colouring:
    """Colour the operators with the most nodes; others get one colour.

    What a compiler fused of the same operators counts as one of them.
    """
    names = {
        operators: _operator_text([index.operator_names[at] for at in operators])
        for operators in set(index.node_operators)
    }
    texts = [names[operators] for operators in index.node_operators]
    counts = Counter(text for text in texts if text)
    ranked = [name for name, _ in counts.most_common()]
    shown = ranked[: len(PALETTE)]
    place = {name: min(at, len(PALETTE)) for at, name in enumerate(ranked)}
    colours = list(PALETTE[: len(shown)])
    if len(ranked) > len(shown):
        shown.append(f"{len(ranked) - len(PALETTE):,} other operators")
        colours.append(REST)
    keys = [place.get(text, -1) for text in texts]
    return _colouring("operator", "Operator", keys, shown, colours, "no operator")


def _operator_text(names: Sequence[str]) -> str:
    return f"fused: {listed(names, 2)}" if len(names) > 1 else "".join(names)


def by_phase(index: OriginIndex) -> Colouring:
    """Colour forward, backward and optimizer."""
    keys = [phase if phase > 0 else -1 for phase in index.column("phase")]
    names = list(PHASE_NAMES[: len(PHASES)])
    return _colouring("phase", "Phase", keys, names, list(PHASE_COLOURS), PHASE_NAMES[0])


def by_source(index: OriginIndex) -> Colouring:
    """Colour nodes by the file of their source line, those with the most nodes first."""
    files: dict[str, int] = {}
    of_line = [files.setdefault(line.file, len(files)) for line in index.lines]
    keys = [
        _single([of_line[at] for at in charge.lines]) if charge.lines else -1
        for charge in index.charges
    ]
    counts = np.bincount([key for key in keys if key >= 0], minlength=len(files))
    ranked = [at for at in np.argsort(-counts, kind="stable").tolist() if counts[at]]
    names = list(files)
    short = short_files([names[at] for at in ranked])
    place = {file: min(at, len(PALETTE)) for at, file in enumerate(ranked)}
    shown = [short[names[at]] for at in ranked[: len(PALETTE)]]
    colours = list(PALETTE[: len(shown)])
    if len(ranked) > len(shown):
        shown.append(f"{len(ranked) - len(PALETTE):,} other files")
        colours.append(REST)
    keys = [place[key] if key >= 0 else key for key in keys]
    return _colouring("source", "Source", keys, shown, colours, "no source line")


def _single(keys: Sequence[int]) -> int:
    """Return what all keys are, or -2 when they differ."""
    first = keys[0]
    return first if all(key == first for key in keys) else -2


def _colouring(
    name: str,
    label: str,
    keys: Sequence[int],
    names: Sequence[str],
    colours: Sequence[str],
    none: str,
) -> Colouring:
    """Return a colouring of what has nodes: -1 is none, -2 is several."""
    values = np.asarray(keys, np.int64)
    every = [*names, f"several {label.lower()}s", none]
    paints = [*colours, SEVERAL, NONE]
    values = np.where(values < 0, len(every) + values, values)
    counts = np.bincount(values, minlength=len(every))
    used = np.flatnonzero(counts)
    rank = np.zeros(len(every), np.int32)
    rank[used] = np.arange(len(used), dtype=np.int32)
    legend = [LegendEntry(every[at], paints[at], int(counts[at])) for at in used.tolist()]
    index = rank[values] if len(values) else np.zeros(0, np.int32)
    return Colouring(name, label, index, legend)
