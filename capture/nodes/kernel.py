"""Kernel launches."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import DriverError
from ..model import Kernel
from .base import Category, Dim3, NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..driver.records import Function
    from .reader import Reader


class KernelPayload(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A kernel launch.

    ``arguments`` is the argument buffer as the kernel sees it: parameter *i* is the
    ``parameters[i][1]`` bytes at ``parameters[i][0]`` of its :class:`~capture.model.Kernel`.
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


def decode(reader: Reader, handles: Sequence[int]) -> list[KernelPayload | None]:
    """Read launch, function, occupancy, attributes and argument bytes of every node."""
    driver = reader.driver
    with reader.phase("launches"):
        launches = reader.values(driver.launches(handles), handles)
        present = [index for index, launch in enumerate(launches) if launch is not None]
        if len(present) < len(launches):
            handles = [handles[index] for index in present]
        found = [launch for launch in launches if launch is not None]
    with reader.phase("functions"):
        keys = list(map(_SAME_RESOURCES, found))
        resolved = {key: _resolve(reader, key) for key in dict.fromkeys(keys)}
        described = [resolved[key][0] for key in keys]
        blocks = [resolved[key][1] for key in keys]
    with reader.phase("attributes"):
        try:
            attributes = driver.launch_attributes(handles)
        except DriverError as error:
            reader.warn(f"launch attributes could not be read: {error}")
            attributes = None
    with reader.phase("arguments"):
        layouts = [function.kernel.parameters if function else None for function in described]
        arguments = driver.arguments(found, layouts)
        if any(layout is None for layout in layouts) and any(value is None for value in arguments):
            reader.notes.setdefault(
                "arguments", "the driver does not tell the parameters of some functions"
            )
    with reader.phase("payloads"):
        nothing: list[Any] = [None] * len(found)
        if attributes is not None:
            reader.notes.setdefault("attributes", ", ".join(attributes.asked))
        columns = zip(
            found,
            described,
            (attributes and attributes.cluster) or nothing,
            (attributes and attributes.cooperative) or nothing,
            (attributes and attributes.priority) or nothing,
            blocks,
            arguments,
            strict=True,
        )
        payloads = [
            KernelPayload(
                kernel=function.kernel if function else None,
                grid=launch[1:4],
                block=launch[4:7],
                cluster=cluster,
                dynamic_shared_bytes=launch[7],
                cooperative=cooperative,
                priority=priority,
                max_blocks_per_multiprocessor=resident,
                arguments=argument,
                arguments_packed=launch[9] != 0,
                function_handle=function.handle if function else launch[0] or launch[10],
            )
            for launch, function, cluster, cooperative, priority, resident, argument in columns
        ]
        if attributes is not None:
            for index, others in attributes.others.items():
                payloads[index].attributes = others
    if len(payloads) == len(launches):
        return [*payloads]
    everyone: list[KernelPayload | None] = [None] * len(launches)
    for index, payload in zip(present, payloads, strict=True):
        everyone[index] = payload
    return everyone


# Function, kernel, block dimensions and dynamic shared memory of a Launch.
_SAME_RESOURCES = itemgetter(0, 10, 4, 5, 6, 7)


def _resolve(reader: Reader, key: tuple[int, ...]) -> tuple[Function | None, int | None]:
    """Describe the function of a launch, and tell its occupancy."""
    function, kernel, x, y, z, dynamic_shared_bytes = key
    found = reader.function(function, kernel)
    if found is None:
        return None, None
    return found, reader.occupancy(found.handle, x * y * z, dynamic_shared_bytes)


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
