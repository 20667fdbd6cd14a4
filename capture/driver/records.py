"""What the driver's calls return: plain tuples, in the order of the driver's own structures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from ..errors import DriverError
from ..model import Kernel

T = TypeVar("T")

Layout = list[tuple[int, int]]
"""(offset, size) in bytes of each parameter of a function."""

RELAXED = 2
"""``CU_STREAM_CAPTURE_MODE_RELAXED``."""


class Answers(NamedTuple, Generic[T]):
    """What a call about many nodes gave: a value each, ``None`` where it was refused."""

    values: list[T | None]
    refused: dict[int, DriverError]
    """By index into `values`."""


class EdgeColumns(NamedTuple):
    """Edges as positions, ordered by target, then source.

    The last three are empty when every value is 0.
    """

    source: list[int]
    target: list[int]
    from_port: list[int]
    to_port: list[int]
    type: list[int]
    how: str = ""
    """The call they came from."""
    lost: int = 0
    """Edges to nodes that are not among those asked about."""
    refused: dict[int, DriverError] = {}  # noqa: RUF012 - never written to
    """Nodes whose dependencies could not be read, by position."""


class Launch(NamedTuple):
    """``CUDA_KERNEL_NODE_PARAMS_v2``, in its order.

    The two pointers are for :meth:`Driver.arguments` only. Drivers give plain tuples in this
    order, :data:`LaunchRow`: naming the fields of each would cost as much as asking for it.
    """

    function: int
    grid_x: int
    grid_y: int
    grid_z: int
    block_x: int
    block_y: int
    block_z: int
    dynamic_shared_bytes: int
    parameters: int
    packed: int
    kernel: int
    context: int


LaunchRow = tuple[int, ...]
"""The values of a :class:`Launch`."""


class Classified(NamedTuple):
    """Types of nodes, and the launch parameters of the kernels among them."""

    types: list[int | None]
    """``CUgraphNodeType`` of each, ``None`` where it was refused."""
    launches: Iterator[LaunchRow | None]
    """One for each node of type 0, in order: to be gone through once. ``None`` where refused."""
    refused: dict[int, DriverError]
    """By index of the node: its type or, of a kernel, its launch parameters."""


class Function(NamedTuple):
    """A device function: the handle that the driver's other calls take, and its description."""

    handle: int
    kernel: Kernel


class LaunchAttributes(NamedTuple):
    """Launch attributes that every kernel node is asked for.

    A column is empty when this driver does not answer for the attribute.
    """

    cluster: list[tuple[int, int, int] | None]
    cooperative: list[bool | None]
    priority: list[int | None]
    asked: tuple[str, ...]
    """Those that this driver answers for, by CUDA's name in lower case."""


class RareAttributes(NamedTuple):
    """All other launch attributes of kernel nodes."""

    differing: dict[int, dict[str, Any]]
    """By index of the node: those that differ from their default, by CUDA's name."""
    asked: tuple[str, ...]


class Memcpy(NamedTuple):
    """``CUDA_MEMCPY3D``, in its order; memory types are ``CUmemorytype``."""

    source_x_bytes: int
    source_y: int
    source_z: int
    source_lod: int
    source_type: int
    source_host: int
    source_device: int
    source_array: int
    source_pitch_bytes: int
    source_height: int
    destination_x_bytes: int
    destination_y: int
    destination_z: int
    destination_lod: int
    destination_type: int
    destination_host: int
    destination_device: int
    destination_array: int
    destination_pitch_bytes: int
    destination_height: int
    width_bytes: int
    height: int
    depth: int


class Memset(NamedTuple):
    """``CUDA_MEMSET_NODE_PARAMS``, in its order."""

    address: int
    pitch_bytes: int
    value: int
    element_bytes: int
    width: int
    height: int


class Allocation(NamedTuple):
    """``CUDA_MEM_ALLOC_NODE_PARAMS``; numbers are the driver's enumerators."""

    allocation_type: int
    handle_types: int
    location_type: int
    location_id: int
    access: list[tuple[int, int, int]]
    """(location type, location id, flags) of each peer."""
    size_bytes: int
    address: int


class Semaphores(NamedTuple):
    """Parameters of an external semaphore node, one map for each semaphore."""

    handles: list[int]
    parameters: list[dict[str, int]]


class MemoryOperations(NamedTuple):
    """``CUDA_BATCH_MEM_OP_NODE_PARAMS``; ``operation`` is ``CUstreamBatchMemOpType``."""

    flags: int
    operations: list[dict[str, int]]


class Conditional(NamedTuple):
    """``CUDA_CONDITIONAL_NODE_PARAMS``; `bodies` are graph handles."""

    handle: int
    kind: int
    bodies: list[int]


Tip = int | tuple[int, ...]
"""Last node of a capture on a stream: its handle, the handles of several, 0 for none yet, -1 when
the stream is not capturing or its capture is no longer valid."""
NOT_CAPTURING = -1


class CaptureInfo(NamedTuple):
    """State of a stream's capture; `graph` is 0 unless it is active."""

    status: int
    """``CUstreamCaptureStatus``: 0 none, 1 active, 2 invalidated."""
    id: int
    graph: int
    last_nodes: list[int]


class Range(NamedTuple):
    """Memory that CUDA knows, as one allocation."""

    kind: str
    """``"device"``, ``"host"`` (pinned), ``"managed"``, or what else ``CUmemorytype`` names."""
    start: int
    size_bytes: int
    """0 when it is not known."""


UPDATE_RESULTS = (
    "SUCCESS",
    "ERROR",
    "TOPOLOGY_CHANGED",
    "NODE_TYPE_CHANGED",
    "FUNCTION_CHANGED",
    "PARAMETERS_CHANGED",
    "NOT_SUPPORTED",
    "UNSUPPORTED_FUNCTION_CHANGE",
    "ATTRIBUTES_CHANGED",
)
"""``CUgraphExecUpdateResult`` by number, without its prefix."""


class UpdateAnswer(NamedTuple):
    """``CUgraphExecUpdateResultInfo``: what the driver says of an update."""

    result: str
    """One of :data:`UPDATE_RESULTS`, or ``RESULT_n`` for a number that is not known here."""
    node: int = 0
    """Handle of the node in the graph that the update was to bring, 0 where none was named."""
    from_node: int = 0
    """Handle of the node that its dependency comes from."""
    error: str = ""
    """Name of the call's own error where it filled in no result."""
