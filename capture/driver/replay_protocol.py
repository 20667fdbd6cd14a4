"""The driver calls that replays of our own need, beside those for reading, in plain Python types.

Nothing here is called unless measurements were asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .protocol import Driver
from .records import Range, UpdateAnswer


class ReplayDriver(Driver, Protocol):
    """A driver that also runs graphs; see :class:`~capture.driver.protocol.Driver`."""

    def upload(self, executable: int, stream: int) -> None:
        """Bring an executable to the device without running it."""
        ...

    def update(self, executable: int, graph: int) -> UpdateAnswer:
        """Bring an executable to another graph, or learn why the driver refuses.

        Parameters
        ----------
        executable : int
            Of a graph that is alike; what it does when the update is refused is not documented.
        graph : int

        Raises
        ------
        DriverError
            The driver did not even answer, such as for a handle that is none. That it does not
            support the update is an answer.
        """
        ...

    def set_enabled(self, executable: int, node: int, enabled: bool) -> None:
        """Turn a node into a no-op in an executable, or back.

        Parameters
        ----------
        executable : int
        node : int
            A kernel, memcpy or memset node of the graph that the executable was made of.
        enabled : bool

        Raises
        ------
        DriverError
            It is a node of another type or of another graph.
        """
        ...

    def is_enabled(self, executable: int, node: int) -> bool:
        """Say whether a node does its work in an executable."""
        ...

    def find_in_clone(self, nodes: Sequence[int], clone: int) -> list[int]:
        """Return the nodes of a clone that stand for nodes of its original."""
        ...

    def new_graph(self) -> int:
        """Make an empty graph; the caller destroys it."""
        ...

    def add_copy(self, graph: int, node: int, number: int, after: Sequence[int]) -> int:
        """Add a copy of a node of another graph.

        Parameters
        ----------
        graph : int
        node : int
            A kernel, memcpy or memset node; it has to live until this returns.
        number : int
            Its type.
        after : sequence of int
            Nodes of `graph` that the copy depends on.

        Returns
        -------
        int
            Handle of the copy.
        """
        ...

    def add_memset(self, graph: int, address: int, size_bytes: int) -> int:
        """Add a node without predecessors that sets memory to 0; return it."""
        ...

    def destroy_nodes(self, nodes: Sequence[int]) -> None:
        """Remove nodes, and the edges at them, from their graph."""
        ...

    def add_edges(self, graph: int, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Add plain edges between nodes of a graph, one from each source to its target."""
        ...

    def memory_info(self) -> tuple[int, int]:
        """Return (free, total) bytes of the current device."""
        ...

    def range_of(self, address: int) -> Range | None:
        """Return the memory that CUDA knows an address to lie in, ``None`` if there is none."""
        ...

    def buffer_of(self, address: int) -> int | None:
        """Return the number of the allocation that an address lies in.

        No two allocations of a process have the same, so it tells whether an address is of memory
        that was freed and allocated anew. ``None`` where CUDA has none.
        """
        ...

    def allocate(self, size_bytes: int) -> int:
        """Allocate device memory."""
        ...

    def free(self, address: int) -> None:
        """Free device memory."""
        ...

    def allocate_host(self, size_bytes: int) -> int:
        """Allocate pinned memory; the device knows it by the same address."""
        ...

    def free_host(self, address: int) -> None:
        """Free pinned memory."""
        ...

    def copy(self, destination: int, source: int, size_bytes: int, stream: int) -> None:
        """Copy memory, on host or device, in the order of a stream."""
        ...

    def fill(self, address: int, size_bytes: int, value: int, stream: int) -> None:
        """Set every byte of device memory, in the order of a stream."""
        ...

    def new_stream(self) -> int:
        """Make a stream that does not wait for the default stream."""
        ...

    def destroy_stream(self, stream: int) -> None:
        """Destroy a stream."""
        ...

    def hold(self, stream: int, address: int, value: int) -> None:
        """Let a stream wait until a 32-bit word is `value` or larger."""
        ...

    def new_event(self) -> int:
        """Make an event that takes time."""
        ...

    def destroy_event(self, event: int) -> None:
        """Destroy an event."""
        ...

    def record_event(self, event: int, stream: int) -> None:
        """Record an event on a stream."""
        ...

    def is_done(self, event: int) -> bool:
        """Say whether all work before an event's last record has ended.

        Raises
        ------
        DriverError
            Some of that work failed.
        """
        ...

    def elapsed_ns(self, start: int, end: int) -> int:
        """Return the time between two events that are done."""
        ...

    def synchronize_device(self) -> None:
        """Wait for all work of the current context.

        Raises
        ------
        DriverError
            Some of it failed, now or earlier.
        """
        ...
