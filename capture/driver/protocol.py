"""The driver calls that reading a graph needs, in plain Python types.

Handles are integers. Calls about nodes take many at once, because a call from Python costs more
than the work it asks for. :class:`~capture.driver.cuda_bindings.CudaDriver` implements this on
the real driver; tests implement it over a declared graph, and both pass the same contract tests.

Every method raises :class:`~capture.errors.DriverError` when the driver refuses it as a whole,
:class:`~capture.errors.NotSupportedError` when this driver has no such call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ..model import Gpu
from .records import (
    Allocation,
    Answers,
    CaptureInfo,
    Classified,
    Conditional,
    EdgeColumns,
    Function,
    LaunchAttributes,
    LaunchRow,
    Layout,
    Memcpy,
    MemoryOperations,
    Memset,
    RareAttributes,
    Semaphores,
    Tip,
)


class Driver(Protocol):
    """The calls of the CUDA driver API that this product makes."""

    def version(self) -> int:
        """Return the driver's CUDA version, such as ``13000``."""
        ...

    def devices(self) -> list[Gpu]:
        """Describe every device.

        Raises
        ------
        NoGpuError
            There is none.
        """
        ...

    def current_device(self) -> int | None:
        """Return the ordinal of the current context's device, ``None`` without a context."""
        ...

    def exchange_capture_mode(self, mode: int) -> int:
        """Set this thread's ``CUstreamCaptureMode`` and return the one before."""
        ...

    def capture_info(self, stream: int) -> CaptureInfo:
        """Return the state of the capture on a stream."""
        ...

    def capture_tip(self, stream: int) -> Callable[[], Tip]:
        """Return a function that tells the last node of the capture on a stream, quickly.

        It is for the thread that asks for it alone.
        """
        ...

    def capture_info_address(self) -> int:
        """Return where C programs call ``cuStreamGetCaptureInfo``, as of CUDA 12.3; 0 for nowhere.

        A driver that answers 0 is asked through :meth:`capture_tip`.
        """
        ...

    def nodes(self, graph: int) -> list[int]:
        """Return a graph's node handles in creation order."""
        ...

    def classify(self, nodes: Sequence[int]) -> Classified:
        """Return types of nodes, and the launch parameters of the kernels among them.

        One pass, because the launch parameters of a node also tell that it is a kernel: most
        nodes are, and need not be asked twice.
        """
        ...

    def edges(self, graph: int | None, nodes: Sequence[int]) -> EdgeColumns:
        """Return the edges between the nodes of a graph.

        Parameters
        ----------
        graph : int or None
            ``None`` for a body whose nodes are known and whose handle is not.
        nodes : sequence of int
            All its nodes; edges name them by position.
        """
        ...

    def function(self, function: int, kernel: int) -> Function:
        """Describe the device function of a launch; one of the handles may be 0."""
        ...

    def occupancy(self, function: int, threads: int, dynamic_shared_bytes: int) -> int:
        """Return how many blocks of a function fit on one multiprocessor."""
        ...

    def launch_attributes(self, nodes: Sequence[int]) -> LaunchAttributes:
        """Return cluster, cooperative launch and priority of kernel nodes."""
        ...

    def rare_attributes(self, nodes: Sequence[int]) -> RareAttributes:
        """Return all other launch attributes of kernel nodes."""
        ...

    def arguments(
        self, launches: Sequence[LaunchRow], layouts: Sequence[Layout | None]
    ) -> list[bytes | None]:
        """Return the argument buffer of each launch.

        ``None`` where the function's layout is not known. Bytes between parameters are 0.
        """
        ...

    def memcpys(self, nodes: Sequence[int]) -> Answers[Memcpy]:
        """Return the parameters of memcpy nodes."""
        ...

    def memsets(self, nodes: Sequence[int]) -> Answers[Memset]:
        """Return the parameters of memset nodes."""
        ...

    def host_functions(self, nodes: Sequence[int]) -> Answers[tuple[int, int]]:
        """Return (function, user data) addresses of host nodes."""
        ...

    def recorded_events(self, nodes: Sequence[int]) -> Answers[int]:
        """Return the event handles of event record nodes."""
        ...

    def awaited_events(self, nodes: Sequence[int]) -> Answers[int]:
        """Return the event handles of wait event nodes."""
        ...

    def semaphore_signals(self, nodes: Sequence[int]) -> Answers[Semaphores]:
        """Return the parameters of external semaphore signal nodes."""
        ...

    def semaphore_waits(self, nodes: Sequence[int]) -> Answers[Semaphores]:
        """Return the parameters of external semaphore wait nodes."""
        ...

    def allocations(self, nodes: Sequence[int]) -> Answers[Allocation]:
        """Return the parameters of mem alloc nodes."""
        ...

    def frees(self, nodes: Sequence[int]) -> Answers[int]:
        """Return the addresses that mem free nodes free."""
        ...

    def memory_operations(self, nodes: Sequence[int]) -> Answers[MemoryOperations]:
        """Return the parameters of batch mem op nodes."""
        ...

    def child_graphs(self, nodes: Sequence[int]) -> Answers[int]:
        """Return the handles of the graphs embedded in child graph nodes."""
        ...

    def conditionals(self, nodes: Sequence[int]) -> Answers[Conditional]:
        """Return the parameters of conditional nodes.

        Raises
        ------
        NotSupportedError
            This driver has no ``cuGraphNodeGetParams`` (it came with 13.2).
        """
        ...

    def debug_dot(self, graph: int, flags: int) -> str:
        """Return what ``cuGraphDebugDotPrint`` prints of a graph."""
        ...

    def clone(self, graph: int) -> int:
        """Clone a graph; the caller destroys the clone."""
        ...

    def destroy(self, graph: int) -> None:
        """Destroy a graph."""
        ...

    def instantiate(self, graph: int, flags: int = 0) -> int:
        """Instantiate a graph with ``CUgraphInstantiate_flags``; the caller destroys it."""
        ...

    def launch(self, executable: int, stream: int) -> None:
        """Launch an executable on a stream."""
        ...

    def destroy_executable(self, executable: int) -> None:
        """Destroy an executable."""
        ...

    def synchronize(self, stream: int) -> None:
        """Wait for a stream."""
        ...
