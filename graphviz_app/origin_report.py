"""What nodes cost by module, operator and source line, each added up when it is first shown."""

from __future__ import annotations

from functools import cached_property

from capture.analysis import Subject
from capture.analysis.module_memory import Held, held_by_module
from capture.analysis.module_tree import ClassRow, ModuleRow, module_classes, module_tree
from capture.analysis.operator_calls import OperatorRow, operator_calls
from capture.analysis.origin_totals import Costs
from capture.analysis.source_lines import SourceLines, source_lines
from capture.origin_index import OriginIndex

from .origin_text import short_files

NODE_BYTES = 400
"""Estimate of what is kept of one node."""


class OriginReport:
    """Totals by origin of one graph or body.

    Parameters
    ----------
    index : OriginIndex
    subject : Subject
    """

    def __init__(self, index: OriginIndex, subject: Subject) -> None:
        self.index = index
        self.subject = subject
        self.is_timed = subject.is_timed

    @property
    def size_bytes(self) -> int:
        """Estimate of what this holds in memory once all of it was asked for."""
        return NODE_BYTES * self.index.count + 10_000

    @cached_property
    def costs(self) -> Costs:
        """What each node costs."""
        return Costs.of(self.subject)

    @cached_property
    def modules(self) -> list[ModuleRow]:
        """Modules as a tree."""
        return module_tree(self.index, self.costs)

    @cached_property
    def held(self) -> dict[int, Held]:
        """Tensors of modules, by index into the modules; empty without memory."""
        return held_by_module(self.index, self.subject.memory)

    @cached_property
    def classes(self) -> list[ClassRow]:
        """Classes of modules."""
        return module_classes(self.index, self.costs)

    @cached_property
    def operators(self) -> list[OperatorRow]:
        """Operators."""
        return operator_calls(self.index, self.costs)

    @cached_property
    def short_files(self) -> dict[str, str]:
        """The shortest end of each file's path that no other file in a stack has."""
        return short_files(dict.fromkeys(line.file for line in self.index.lines))

    @cached_property
    def lines(self) -> SourceLines:
        """Lines of source."""
        return source_lines(self.index, self.costs)
