"""Kernel launches."""

from __future__ import annotations

from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ..errors import DriverError
from ..model import Kernel
from .base import Category, Dim3, NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..driver.records import Layout
    from .reader import Reader

ALL_ATTRIBUTES_LIMIT = 200
"""Kernel nodes up to which every launch attribute of every node is read."""


class KernelPayload(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """A kernel launch.

    ``arguments`` is the argument buffer as the kernel sees it: parameter *i* is the
    ``parameters[i][1]`` bytes at ``parameters[i][0]`` of its :class:`~capture.model.Kernel`.

    Payloads are data and never part of a cycle; 100,000 of them are kept out of every
    collection of the process they were recorded in.
    """

    kernel: Kernel | None = None
    grid: Dim3 | None = None
    block: Dim3 | None = None
    cluster: Dim3 | None = None
    """Thread-block cluster; ``None`` when the kernel was launched without one."""
    dynamic_shared_bytes: int | None = None
    cooperative: bool | None = None
    priority: int | None = None
    max_blocks_per_multiprocessor: int | None = None
    """Occupancy: resident blocks for this block size and shared memory."""
    attributes: dict[str, Any] = msgspec.field(default_factory=dict)
    """Other launch attributes that differ from their default, by CUDA's name in lower case."""
    arguments: bytes | None = None
    arguments_packed: bool = False
    """True when the launch passed one packed buffer (``extra``) instead of single parameters."""
    function_handle: int | None = None


# Nodes described at a time: few enough for the processor's cache to keep what the calls about
# them read and write.
_BLOCK = 256

# Function, grid, block, dynamic shared memory and kernel of a launch.
_SAME_LAUNCH = itemgetter(0, 1, 2, 3, 4, 5, 6, 7, 10)


def decode(reader: Reader, handles: Sequence[int]) -> list[KernelPayload | None]:
    """Read launch, function, occupancy, attributes and argument bytes of every node.

    Rare attributes are read where :func:`_read_rare_attributes` says.
    """
    launches = _DistinctLaunches(reader)
    payloads: list[KernelPayload | None] = []
    numbers: list[int | None] = []
    for start in range(0, len(handles), _BLOCK):
        _decode_block(reader, launches, handles[start : start + _BLOCK], payloads, numbers)
    with reader.phase("rare attributes"):
        _read_rare_attributes(reader, handles, payloads, numbers)
    return payloads


class _Described(NamedTuple):
    """What nodes of one distinct launch have in common."""

    kernel: Kernel | None
    layout: Layout | None
    grid: Dim3
    block: Dim3
    dynamic_shared_bytes: int
    resident: int | None
    handle: int
    cluster: Dim3 | None
    cooperative: bool | None
    priority: int | None


class _DistinctLaunches(dict[tuple[Any, ...], int]):
    """Numbers of distinct launches, counted up as they are first asked for."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.described: list[_Described] = []
        self._reader = reader

    def __missing__(self, key: tuple[Any, ...]) -> int:
        (function, gx, gy, gz, bx, by, bz, shared, kernel), cluster, cooperative, priority = key
        found = self._reader.function(function, kernel)
        self.described.append(
            _Described(
                kernel=found.kernel if found else None,
                layout=found.kernel.parameters if found else None,
                grid=(gx, gy, gz),
                block=(bx, by, bz),
                dynamic_shared_bytes=shared,
                resident=(
                    self._reader.occupancy(found.handle, bx * by * bz, shared) if found else None
                ),
                handle=found.handle if found else function or kernel,
                cluster=cluster,
                cooperative=cooperative,
                priority=priority,
            )
        )
        number = self[key] = len(self)
        return number


def _decode_block(
    reader: Reader,
    launches: _DistinctLaunches,
    handles: Sequence[int],
    payloads: list[KernelPayload | None],
    numbers: list[int | None],
) -> None:
    """Add payloads, and the numbers of their distinct launches, of a few nodes."""
    driver = reader.driver
    with reader.phase("launches"):
        rows = list(islice(reader.launches, len(handles)))
        present: Sequence[int] = range(len(handles))
        if None in rows:
            present = [index for index, row in enumerate(rows) if row is not None]
            handles = [handles[index] for index in present]
        found = [row for row in rows if row is not None]
    with reader.phase("attributes"):
        cluster, cooperative, priority = _attributes(reader, handles)
    with reader.phase("functions"):
        keys = zip(map(_SAME_LAUNCH, found), cluster, cooperative, priority, strict=True)
        here = list(map(launches.__getitem__, keys))
        described = launches.described
    with reader.phase("arguments"):
        layouts = [described[number].layout for number in here]
        arguments = driver.arguments(found, layouts)
        if None in arguments and None in layouts:
            reader.notes.setdefault(
                "arguments", "the driver does not tell the parameters of some functions"
            )
    with reader.phase("payloads"):
        made = []
        for number, row, argument in zip(here, found, arguments, strict=True):
            same = described[number]
            made.append(
                KernelPayload(
                    kernel=same.kernel,
                    grid=same.grid,
                    block=same.block,
                    cluster=same.cluster,
                    dynamic_shared_bytes=same.dynamic_shared_bytes,
                    cooperative=same.cooperative,
                    priority=same.priority,
                    max_blocks_per_multiprocessor=same.resident,
                    arguments=argument,
                    arguments_packed=row[9] != 0,
                    function_handle=same.handle,
                )
            )
        if len(made) == len(rows):
            payloads += made
            numbers += here
            return
        all_payloads: list[KernelPayload | None] = [None] * len(rows)
        all_numbers: list[int | None] = [None] * len(rows)
        for index, payload, number in zip(present, made, here, strict=True):
            all_payloads[index], all_numbers[index] = payload, number
        payloads += all_payloads
        numbers += all_numbers


def _attributes(reader: Reader, handles: Sequence[int]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return cluster, cooperative launch and priority of every node, ``None`` where unknown."""
    nothing: list[Any] = [None] * len(handles)
    if not handles or "attributes refused" in reader.notes:
        return nothing, nothing, nothing
    try:
        found = reader.driver.launch_attributes(handles)
    except DriverError as error:
        reader.warn(f"launch attributes could not be read: {error}")
        reader.notes["attributes refused"] = str(error)
        return nothing, nothing, nothing
    reader.notes.setdefault("attributes", ", ".join(found.asked))
    return found.cluster or nothing, found.cooperative or nothing, found.priority or nothing


def _read_rare_attributes(
    reader: Reader,
    handles: Sequence[int],
    payloads: Sequence[KernelPayload | None],
    numbers: Sequence[int | None],
) -> None:
    """Read the attributes that hardly any node has, on some nodes.

    On every node of a small graph. In others on the first and the last node of each distinct
    launch (equal function, dimensions, shared memory, cluster, cooperative launch and priority),
    and if one of the two differs from the defaults, on every node of that launch.
    """
    positions = [at for at, number in enumerate(numbers) if number is not None]
    rare = reader.rare
    rare.kernels += len(positions)
    if not positions or "attributes refused" in reader.notes:
        return
    if reader.all_attributes or rare.kernels <= ALL_ATTRIBUTES_LIMIT:
        asked = positions
        differing = _ask_rare(reader, handles, payloads, asked)
    else:
        last = dict(zip(numbers, range(len(numbers)), strict=True))
        first = dict(zip(reversed(numbers), range(len(numbers) - 1, -1, -1), strict=True))
        for ends in (first, last):
            ends.pop(None, None)
        asked = sorted({*first.values(), *last.values()})
        differing = _ask_rare(reader, handles, payloads, asked)
        wanted = {numbers[at] for at in differing}
        if wanted:
            known = set(asked)
            more = [at for at in positions if numbers[at] in wanted and at not in known]
            _ask_rare(reader, handles, payloads, more)
            asked = [*asked, *more]
            rare.launches_in_full += len(wanted)
    rare.read += len(asked)


def _ask_rare(
    reader: Reader,
    handles: Sequence[int],
    payloads: Sequence[KernelPayload | None],
    positions: Sequence[int],
) -> list[int]:
    """Put rare attributes into the payloads of some nodes; return those where any differ."""
    if not positions:
        return []
    try:
        found = reader.driver.rare_attributes([handles[at] for at in positions])
    except DriverError as error:
        reader.warn(f"rare launch attributes could not be read: {error}")
        reader.notes["attributes refused"] = str(error)
        return []
    reader.notes.setdefault("rare attributes", ", ".join(found.asked))
    differing = []
    for index, attributes in found.differing.items():
        payload = payloads[positions[index]]
        if payload is not None:
            payload.attributes = attributes
            differing.append(positions[index])
    return differing


def label(payload: KernelPayload | None) -> str:
    """Return the kernel's name as the driver gives it; the caller shortens it for people."""
    return payload.kernel.name if payload is not None and payload.kernel else "kernel"


NODE_TYPE = NodeType(
    name="kernel",
    number=0,
    category=Category.COMPUTE,
    payload=KernelPayload,
    label=label,
    decode=decode,
    dot_names=("KERNEL",),
    description="launches a kernel",
)
