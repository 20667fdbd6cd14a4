"""Lines of source with what the nodes that they launch cost."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..origin_index import Line, OriginIndex
from .origin_totals import Costs, Totals, group


@dataclass
class LineRow:
    """One line of the user's source.

    Attributes
    ----------
    line : Line
    launched : Totals
        Nodes that it launched: it is the innermost line of the user in their stacks.
    backward : Totals
        Nodes of the backward pass that belong to what it launched.
    inclusive : Totals
        Both, and those of the functions that the line calls; a node counts once.
    """

    line: Line
    launched: Totals = field(default_factory=Totals)
    backward: Totals = field(default_factory=Totals)
    inclusive: Totals = field(default_factory=Totals)

    @property
    def own_ns(self) -> int:
        """Time of what it launched, and of the backward pass of that."""
        return self.launched.time_ns + self.backward.time_ns

    @property
    def own_nodes(self) -> int:
        """Nodes that it launched, and of the backward pass of that."""
        return self.launched.nodes + self.backward.nodes


@dataclass
class FileRow:
    """One file with lines of the user, or of generated code.

    Attributes
    ----------
    file, kind : str
    lines : list of LineRow
        By line.
    launched, backward : Totals
        Of its lines; a kernel that was fused from several of them counts once.
    """

    file: str
    kind: str
    lines: list[LineRow] = field(default_factory=list)
    launched: Totals = field(default_factory=Totals)
    backward: Totals = field(default_factory=Totals)

    @property
    def own_ns(self) -> int:
        """Time of all its nodes."""
        return self.launched.time_ns + self.backward.time_ns

    @property
    def own_nodes(self) -> int:
        """All its nodes."""
        return self.launched.nodes + self.backward.nodes


@dataclass(frozen=True)
class SourceLines:
    """Every line of the user with nodes.

    Attributes
    ----------
    files : list of FileRow
        Those with the longest time first.
    without : Totals
        Nodes in whose stack no line of the user is, or that have no stack.
    """

    files: list[FileRow]
    without: Totals

    @property
    def rows(self) -> list[LineRow]:
        """Lines of all files."""
        return [row for file in self.files for row in file.lines]


def source_lines(index: OriginIndex, costs: Costs) -> SourceLines:
    """Charge each node to its line.

    Notes
    -----
    O(nodes + stacks * depth). A kernel that was fused from several lines is charged to each in
    full, and marked as shared: times of lines then add up to more than the nodes took.
    """
    lines = index.lines
    rows: dict[int, LineRow] = {}
    files: dict[str, FileRow] = {}
    without = Totals()

    def row(at: int) -> LineRow:
        found = rows.get(at)
        if found is None:
            found = rows[at] = LineRow(lines[at])
            file = lines[at].file
            files.setdefault(file, FileRow(file, lines[at].kind)).lines.append(found)
        return found

    for charge, totals in group(index.charges, index.column("phase"), costs).items():
        if not charge.lines:
            without.add(totals)
            continue
        shared = len(charge.lines) > 1
        for at in charge.lines:
            found = row(at)
            (found.backward if charge.as_backward else found.launched).add(totals, shared=shared)
        around = dict.fromkeys(at for stack in charge.stacks for at in index.lines_of_stack[stack])
        for at in around:
            row(at).inclusive.add(totals, shared=shared)
        named = dict.fromkeys(lines[at].file for at in charge.lines)
        for name in named:
            part = files[name].backward if charge.as_backward else files[name].launched
            part.add(totals, shared=len(named) > 1)
    for file in files.values():
        file.lines.sort(key=lambda item: item.line.line)
    ordered = sorted(files.values(), key=lambda item: (-item.own_ns, -item.own_nodes, item.file))
    return SourceLines(ordered, without)
