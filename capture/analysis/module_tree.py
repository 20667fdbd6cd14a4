"""The modules of a graph as a tree, each with what the nodes inside it cost."""

from __future__ import annotations

from dataclasses import dataclass

from ..origin_index import OriginIndex
from .origin_totals import Costs, Totals, group

NO_MODULE = "no module"


@dataclass(frozen=True)
class ModuleRow:
    """One module, or the nodes without one.

    Attributes
    ----------
    module : int
        Index into :attr:`~capture.origin_index.OriginIndex.modules`; -1 for no module.
    parent : int
        Of the row around it; -1 for the outermost.
    depth : int
    path, class_name : str
    name : str
        The last part of the path, with the one before it for a number; of an outermost module its
        class.
    own : Totals
        Nodes whose innermost module this is.
    total : Totals
        Those and the nodes of the modules inside, each once.
    """

    module: int
    parent: int
    depth: int
    path: str
    class_name: str
    name: str
    own: Totals
    total: Totals


def module_tree(index: OriginIndex, costs: Costs) -> list[ModuleRow]:
    """Return the modules that any node belongs to, parents before children, in stored order.

    Nodes without a module are a row of their own at the end.

    Notes
    -----
    O(nodes + modules * depth). A kernel that was fused from several modules is charged to each of
    them in full, and once to each module around them.
    """
    groups = group(index.node_modules, index.column("phase"), costs)
    count = len(index.modules)
    own: list[Totals] = [Totals() for _ in range(count)]
    total: list[Totals] = [Totals() for _ in range(count)]
    for modules, totals in groups.items():
        shared = len(modules) > 1
        held: dict[int, int] = {}
        for at in modules:
            own[at].add(totals, shared=shared)
            for above in index.ancestors[at]:
                held[above] = held.get(above, 0) + 1
        for above, inside in held.items():
            # What holds all of a kernel's modules shares it with nobody.
            total[above].add(totals, shared=shared and inside < len(modules))
    children: dict[int, list[int]] = {}
    for at, module in enumerate(index.modules):
        if total[at].nodes:
            children.setdefault(module.parent, []).append(at)
    rows: list[ModuleRow] = []
    stack = [(at, -1, 0) for at in reversed(children.get(-1, []))]
    while stack:
        at, parent, depth = stack.pop()
        module = index.modules[at]
        last = module.path.rpartition(".")[2]
        around = index.modules[module.parent].path if module.parent >= 0 else ""
        if around and module.path.startswith(f"{around}."):
            last = module.path[len(around) + 1 :]
        elif module.parent >= 0 or not module.class_name:
            last = module.path
        if last.isdecimal() and "." in module.path:
            # A number in a list of modules says nothing alone.
            last = ".".join(module.path.split(".")[-2:])
        name = last or module.class_name or "module"
        row = ModuleRow(at, parent, depth, module.path, module.class_name, name, own[at], total[at])
        stack += [(child, len(rows), depth + 1) for child in reversed(children.get(at, []))]
        rows.append(row)
    if () in groups:
        none = groups[()]
        rows.append(ModuleRow(-1, -1, 0, "", "", NO_MODULE, none, none))
    return rows


@dataclass(frozen=True)
class ClassRow:
    """The modules of one class that have nodes.

    Attributes
    ----------
    class_name : str
    modules : int
        How many there are.
    own, total : Totals
        Of the nodes whose innermost module is one of them, and of all nodes inside any.
    """

    class_name: str
    modules: int
    own: Totals
    total: Totals


def module_classes(index: OriginIndex, costs: Costs) -> list[ClassRow]:
    """Return what the modules of each class cost, those with the longest time of their own first.

    Notes
    -----
    O(nodes + modules * depth). A node inside two modules of a class counts once.
    """
    names = [module.class_name for module in index.modules]
    around = [frozenset(names[above] for above in line) for line in index.ancestors]
    own: dict[str, Totals] = {}
    total: dict[str, Totals] = {}
    used: dict[str, set[int]] = {}
    for modules, totals in group(index.node_modules, index.column("phase"), costs).items():
        inner = {names[at] for at in modules}
        for name in inner:
            own.setdefault(name, Totals()).add(totals, shared=len(inner) > 1)
        for name in frozenset[str]().union(*(around[at] for at in modules)):
            total.setdefault(name, Totals()).add(totals)
        for at in modules:
            for above in index.ancestors[at]:
                used.setdefault(names[above], set()).add(above)
    rows = [ClassRow(name, len(used[name]), own.get(name, Totals()), total[name]) for name in total]
    return sorted(rows, key=lambda row: (-row.own.time_ns, -row.own.nodes, row.class_name))
