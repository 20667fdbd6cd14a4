"""Which fields of paired nodes differ, addresses apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from ..model import Kernel
from ..nodes.kernel import KernelPayload
from .alignment import Alignment
from .parameters import FieldChange, Parameters
from .relocation import MOST_WORDS, Arguments, Relocation, Spans

LAUNCH = (
    "grid",
    "block",
    "cluster",
    "dynamic_shared_bytes",
    "cooperative",
    "priority",
    "attributes",
)
COMPILED = (
    "registers",
    "static_shared_bytes",
    "local_bytes",
    "constant_bytes",
    "max_threads_per_block",
    "ptx_version",
    "binary_version",
)


Changes = dict[tuple[int, int], list[FieldChange]]
"""By index of the level and position before."""

UNKNOWN: tuple[Any, ...] = (None, "", [])
"""What a field holds that was not read; a file of another format or version may say less."""


class Compared(NamedTuple):
    """What comparing fields gave.

    Attributes
    ----------
    changes : dict
        Pairs without any are left out.
    pointers : dict
        Addresses of pairs that no relocation explains.
    relocation : Relocation
    doubtful : dict
        How many words of a pair's arguments differ in structures, which may be uninitialised
        there; they count as no change. See :mod:`capture.compare.parameters`.
    """

    changes: Changes
    pointers: Changes
    relocation: Relocation
    doubtful: dict[tuple[int, int], int]


def changed_fields(levels: list[Alignment], spans: tuple[Spans, Spans] | None = None) -> Compared:
    """Compare every pair of every level.

    A field that is not known on one side is passed over, and so are handles, which name objects of
    one process. Addresses that are others than the rest of the graphs suggests are told apart.
    """
    relocation = Relocation()
    changes: defaultdict[tuple[int, int], list[FieldChange]] = defaultdict(list)
    groups: defaultdict[tuple[int, int], list[tuple[int, int, bytes, bytes]]] = defaultdict(list)
    kernels: dict[int, Kernel | None] = {}
    addresses: list[tuple[tuple[int, int], str, int, int]] = []
    same_kernel: dict[tuple[int, int], bool] = {}
    for index, level in enumerate(levels):
        left, right = level.before.payloads, level.after.payloads
        for position, partner in enumerate(level.partner):
            if partner < 0:
                continue
            one, other = left[position], right[partner]
            place = (index, position)
            if isinstance(one, KernelPayload) and isinstance(other, KernelPayload):
                pair = (id(one.kernel), id(other.kernel))
                same = same_kernel.get(pair)
                if same is None:
                    same = same_kernel[pair] = _same_code(one.kernel, other.kernel)
                launch = _launch(one, other, same)
                if launch:
                    changes[place] += launch
                if one.arguments is not None and other.arguments is not None:
                    if len(one.arguments) == len(other.arguments) and _same_layout(one, other):
                        key = (id(one.kernel), len(one.arguments))
                        kernels[key[0]] = one.kernel
                        groups[key].append((*place, one.arguments, other.arguments))
                    elif _same_name(one.kernel, other.kernel):
                        changes[place].append(
                            FieldChange(
                                field="arguments",
                                before=f"{len(one.arguments)} bytes",
                                after=f"{len(other.arguments)} bytes",
                            )
                        )
            elif type(one) is type(other) and one is not None:
                for name, old, new in _plain(one, other, ""):
                    if name.endswith("address"):
                        addresses.append((place, name, old, new))
                        if old and new:
                            relocation.tell(old, new)
                    else:
                        changes[place].append(FieldChange(field=name, before=old, after=new))
    chunks = [
        (kernels[kernel], rows[start : start + step])
        for (kernel, size), rows in groups.items()
        if size
        for step in [max(1, 8 * MOST_WORDS // size)]
        for start in range(0, len(rows), step)
    ]
    doubtful: dict[tuple[int, int], int] = {}
    pointers: defaultdict[tuple[int, int], list[FieldChange]] = defaultdict(list)
    laid_out = [
        (kernel, rows, Arguments([row[2:] for row in rows], kernel, spans))
        for kernel, rows in chunks
    ]
    for _, _, arguments in laid_out:
        arguments.tell(relocation)
    relocation.settle()
    for kernel, rows, arguments in laid_out:
        parameters = Parameters(kernel)
        for row, words in arguments.differing(relocation.explains).items():
            index, position, old_bytes, new_bytes = rows[row]
            differing = parameters.changed(old_bytes, new_bytes, words)
            changes[index, position] += differing.changes
            pointers[index, position] += differing.pointers
            if differing.doubtful:
                doubtful[index, position] = differing.doubtful
    for place, name, old, new in addresses:
        if not relocation.explains(old, new) or not old or not new:
            pointers[place].append(FieldChange(field=name, before=hex(old), after=hex(new)))
    found, others = (
        {place: fields for place, fields in kind.items() if fields} for kind in (changes, pointers)
    )
    return Compared(found, others, relocation, doubtful)


def _same_code(one: Kernel | None, other: Kernel | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.name == other.name and not any(_differs(one, other, name) for name in COMPILED)


def _same_name(one: Kernel | None, other: Kernel | None) -> bool:
    return (one.name if one else None) == (other.name if other else None)


def _same_layout(one: KernelPayload, other: KernelPayload) -> bool:
    if one.kernel is other.kernel:
        return True
    if one.kernel is None or other.kernel is None:
        return False
    return (one.kernel.parameters or []) == (other.kernel.parameters or [])


def _differs(one: Any, other: Any, name: str) -> bool:
    old, new = getattr(one, name), getattr(other, name)
    return old is not None and new is not None and old != new


def _launch(one: KernelPayload, other: KernelPayload, same_code: bool) -> list[FieldChange]:
    found = []
    if not same_code and one.kernel is not None and other.kernel is not None:
        if one.kernel.name != other.kernel.name:
            found.append(
                FieldChange(field="kernel", before=one.kernel.name, after=other.kernel.name)
            )
        else:
            found += [
                FieldChange(
                    field=name, before=getattr(one.kernel, name), after=getattr(other.kernel, name)
                )
                for name in COMPILED
                if _differs(one.kernel, other.kernel, name)
            ]
    if (
        one.grid == other.grid
        and one.block == other.block
        and one.dynamic_shared_bytes == other.dynamic_shared_bytes
        and one.cluster == other.cluster
        and one.attributes == other.attributes
        and one.cooperative == other.cooperative
        and one.priority == other.priority
    ):
        return found
    for name in LAUNCH:
        old, new = getattr(one, name), getattr(other, name)
        # No cluster is how a launch without one is told; elsewhere absent is not known.
        if old != new and (name == "cluster" or (old is not None and new is not None)):
            found.append(FieldChange(field=name, before=old, after=new))
    return found


def _plain(one: Any, other: Any, prefix: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield fields that differ; those of structures inside are named ``source.pitch_bytes``."""
    for name, old, new in _items(one, other):
        full = f"{prefix}{name}"
        if old == new or name.endswith(("handle", "handles")):
            continue
        if old in UNKNOWN or new in UNKNOWN:
            continue
        if isinstance(old, (msgspec.Struct, dict)) and type(old) is type(new):
            yield from _plain(old, new, f"{full}.")
        elif isinstance(old, list) and isinstance(new, list):
            yield from _lists(old, new, full)
        else:
            yield full, old, new


def _lists(old: list[Any], new: list[Any], name: str) -> Iterator[tuple[str, Any, Any]]:
    if len(old) != len(new):
        yield name, f"{len(old)} items", f"{len(new)} items"
        return
    for at, (left, right) in enumerate(zip(old, new, strict=True)):
        if isinstance(left, dict) and isinstance(right, dict):
            yield from _plain(left, right, f"{name}[{at}].")
        elif left != right:
            yield f"{name}[{at}]", left, right


def _items(one: Any, other: Any) -> Iterable[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        return [(str(key), one[key], other[key]) for key in one if key in other]
    if isinstance(one, msgspec.Struct):
        return [(name, getattr(one, name), getattr(other, name)) for name in one.__struct_fields__]
    return []
