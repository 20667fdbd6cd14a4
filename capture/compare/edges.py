"""Dependencies that only one of two graphs has, or has in another form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import zip_longest

import msgspec
import numpy as np

from ..model import Topology
from .alignment import Alignment

Form = tuple[int, int, int]
"""``from_port``, ``to_port`` and type of an edge."""


class EdgeChange(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A dependency that was added, removed or changed its ports or type.

    `before` and `after` are paths of its source and target in each graph, empty where it is not.
    """

    kind: str
    """``"added"``, ``"removed"`` or ``"changed"``."""
    before: tuple[str, str] | None = None
    after: tuple[str, str] | None = None
    between_kept: bool = True
    """Whether both of its nodes are on both sides: the order of work is another one."""
    form_before: Form | None = None
    form_after: Form | None = None


def changed_edges(level: Alignment) -> Iterator[EdgeChange]:
    """Yield the dependencies of one level that differ. O((n + m) log(n + m)) for m edges."""
    one, other = level.before.topology, level.after.topology
    partner = np.asarray(level.partner, dtype=np.int64).reshape(-1)
    origin = np.asarray(level.origin, dtype=np.int64).reshape(-1)
    width = max(len(origin), 1)
    source = np.asarray(one.source, dtype=np.int64)
    target = np.asarray(one.target, dtype=np.int64)
    mapped = partner[source], partner[target]
    kept = (mapped[0] >= 0) & (mapped[1] >= 0)
    here = np.where(kept, mapped[0] * width + mapped[1], -1)
    there_source = np.asarray(other.source, dtype=np.int64)
    there_target = np.asarray(other.target, dtype=np.int64)
    there = there_source * width + there_target
    for at in np.flatnonzero(~(np.isin(here, there) & kept)).tolist():
        ends = (one.source[at], one.target[at])
        yield EdgeChange(
            kind="removed",
            before=_paths(level.path_before, *ends),
            between_kept=bool(kept[at]),
            form_before=_form(one, at),
        )
    both = (origin[there_source] >= 0) & (origin[there_target] >= 0)
    for at in np.flatnonzero(~np.isin(there, here)).tolist():
        ends = (other.source[at], other.target[at])
        yield EdgeChange(
            kind="added",
            after=_paths(level.path_after, *ends),
            between_kept=bool(both[at]),
            form_after=_form(other, at),
        )
    if not any((one.from_port, one.to_port, one.edge_type)) and not any(
        (other.from_port, other.to_port, other.edge_type)
    ):
        return
    forms: tuple[defaultdict[int, set[Form]], ...] = (defaultdict(set), defaultdict(set))
    for side, topology, keys in ((0, one, here), (1, other, there)):
        for at, key in enumerate(keys.tolist()):
            if key >= 0:
                forms[side][key].add(_form(topology, at))
    for key in forms[0].keys() & forms[1].keys():
        source_after, target_after = divmod(key, width)
        ends_before = level.origin[source_after], level.origin[target_after]
        gone, new = (sorted(forms[side][key] - forms[1 - side][key]) for side in (0, 1))
        for form, other_form in zip_longest(gone, new):
            yield EdgeChange(
                kind="added" if form is None else "removed" if other_form is None else "changed",
                before=_paths(level.path_before, *ends_before) if form is not None else None,
                after=(
                    _paths(level.path_after, source_after, target_after)
                    if other_form is not None
                    else None
                ),
                form_before=form,
                form_after=other_form,
            )


def _form(topology: Topology, edge: int) -> Form:
    return (
        topology.from_port[edge] if topology.from_port else 0,
        topology.to_port[edge] if topology.to_port else 0,
        topology.edge_type[edge] if topology.edge_type else 0,
    )


def _paths(path: str, source: int, target: int) -> tuple[str, str]:
    prefix = f"{path}/" if path else ""
    return f"{prefix}{source}", f"{prefix}{target}"
