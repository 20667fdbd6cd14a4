"""Accesses by the memory that they share: lists of them, or arrays for large graphs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .access import Access, AccessColumns
from .sorting import is_new, order_of

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


class Accesses:
    """All that the nodes of one level touch.

    Parameters
    ----------
    groups : list of list of Access, optional
        Accesses to memory that no other group touches, in creation order.
    columns : AccessColumns, optional
        All accesses of a large graph instead, group after group.
    group : array of int, optional
        The number of the group that each is in.
    """

    def __init__(
        self,
        groups: list[list[Access]] | None = None,
        columns: AccessColumns | None = None,
        group: Array | None = None,
    ) -> None:
        self.columns = columns
        self.group = group
        self._groups = groups

    @property
    def groups(self) -> list[list[Access]]:
        """Accesses to memory that no other group touches, in creation order."""
        if self._groups is None:
            assert self.columns is not None
            assert self.group is not None
            items = self.columns.rows(0, len(self.group))
            bounds = [*is_new(self.group).nonzero()[0].tolist(), len(items)]
            self._groups = [items[first:end] for first, end in pairwise(bounds)]
        return self._groups

    @cached_property
    def seen(self) -> set[int]:
        """Nodes with any."""
        if self.columns is not None:
            return set(self.columns.node.tolist())
        return {item[0] for group in self.groups for item in group}


def joined(
    plain: Array,
    keys: Array,
    columns: AccessColumns,
    look_closely: Callable[[list[int]], Iterable[tuple[int, int, Access]]],
    count: int,
) -> Accesses:
    """Join plain accesses with those that take a closer look, and sort them into groups."""
    import numpy

    others = numpy.ones(count, dtype=bool)
    others[plain] = False
    found = list(look_closely(numpy.nonzero(others)[0].tolist()))
    number = numpy.concatenate([plain, numpy.array([row[0] for row in found], dtype=numpy.int64)])
    key = numpy.concatenate([keys, numpy.array([row[1] for row in found], dtype=numpy.int64)])
    columns = columns.join(AccessColumns.of([row[2] for row in found]))
    # Groups in the order of their first pointers, and so what is in each.
    order = numpy.argsort(number, kind="stable")
    _, first, group = numpy.unique(key[order], return_index=True, return_inverse=True)
    place = numpy.empty(len(first), dtype=numpy.int64)
    place[numpy.argsort(first)] = numpy.arange(len(first))
    group = place[group]
    by_group = order_of(group)
    return Accesses(None, columns.take(order[by_group]), group[by_group])
