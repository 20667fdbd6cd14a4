"""Graphs kept for replays of our own: a clone each, and the memory that its nodes point into."""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter_ns as clock
from typing import Any

from ...driver.records import RELAXED
from ...driver.replay_protocol import ReplayDriver
from ...measure_request import MeasureRequest
from ...memory.addresses import Pointer, addresses, blocks_of
from ...model import Graph
from ..open_capture import OpenCapture
from ..torch_allocator import memory_segments
from .safety import refusal
from .update_questions import can_be_cloned

MOST_FOREIGN = 20_000
"""Words outside torch's memory that CUDA is asked about."""


class Kept:
    """One graph, as long as it may be measured.

    Attributes
    ----------
    key, name : str
    serial : int
        In the journal.
    graph : Graph
    clone : int
        Handle, 0 when there is none.
    nodes : list of int
        Nodes of the clone's outermost level, by position.
    device : int or None
    pool : tuple of two int, or None
    refused : str
        Why it is not replayed.
    unheld : str
        Why its memory could not be kept.
    notes : list of str
    capture_ns : int
    held : list
        What keeps memory alive: storages, or the graph object.
    resolved : dict of int to Pointer
        Addresses in it that were memory when it was captured.
    buffers : dict of int to int or None
        Number of the allocation that each of these addresses lay in.
    call : callable or None
        The function that was captured by us.
    """

    def __init__(self, capture: OpenCapture, graph: Graph) -> None:
        self.key = capture.key
        self.name = capture.name
        self.serial = 0
        self.graph = graph
        self.clone = 0
        self.nodes: list[int] = []
        self.device = capture.device
        self.pool = capture.pool
        self.refused = self.unheld = ""
        self.notes: list[str] = []
        self.capture_ns = 0
        self.held: list[Any] = []
        self.resolved: dict[int, Pointer] = {}
        self.buffers: dict[int, int | None] = {}
        self.call: Callable[[], Any] | None = None


class Keeper:
    """Keeps what was asked for, from captures on until the process ends.

    Nothing here raises into a capture: what goes wrong is told to `complain`.

    Parameters
    ----------
    request : MeasureRequest
    complain : callable
        ``complain(where, error)``.
    """

    def __init__(
        self, request: MeasureRequest, complain: Callable[[str, BaseException], None]
    ) -> None:
        self.request = request
        self.kept: list[Kept] = []
        self.left_out: list[tuple[int, str]] = []
        """Serials of graphs that are not kept, and why."""
        self.cost_ns = 0
        self._complain = complain
        self._pending: dict[int, Kept] = {}

    def clone(self, driver: Any, capture: OpenCapture) -> None:
        """Clone a graph whose capture is about to end and whose nodes were just read.

        Its cost counts as reading: between the two, the capture ends.
        """
        extraction = capture.extraction
        if extraction is None or not self.request.wants(capture.key):
            return
        try:
            if self.request.graphs or len(self.kept) < self.request.most_graphs:
                kept = self._pending[id(capture)] = Kept(capture, extraction.graph)
                kept.refused = refusal(extraction.graph)
                if not kept.refused or (self.request.updates and can_be_cloned(extraction.graph)):
                    self._clone(driver, capture.handle, extraction.handles[0][1], kept)
        except Exception as error:
            self._complain("keeping a graph", error)

    @staticmethod
    def _clone(driver: ReplayDriver, handle: int, nodes: list[int], kept: Kept) -> None:
        mode = driver.exchange_capture_mode(RELAXED)
        try:
            kept.clone = driver.clone(handle)
            kept.nodes = driver.find_in_clone(nodes, kept.clone)
        except Exception as error:
            kept.refused = kept.refused or f"it could not be cloned: {error}"
        finally:
            driver.exchange_capture_mode(mode)

    def keep(self, driver: Any, graph: Any, capture: OpenCapture, serial: int) -> None:
        """Keep a graph whose capture has ended well, and the memory its nodes point into."""
        kept = self._pending.pop(id(capture), None)
        if kept is None:
            most = self.request.most_graphs
            why = (
                f"the first {most} graphs were kept for measuring: name it to have it measured"
                if self.request.wants(capture.key)
                else "other graphs were to be measured"
            )
            self.left_out.append((serial, why))
            return
        start = clock()
        kept.serial, kept.capture_ns, kept.device = serial, capture.duration_ns, capture.device
        kept.pool = capture.pool
        self.kept.append(kept)
        if kept.clone:
            try:
                mode = driver.exchange_capture_mode(RELAXED)
                try:
                    self._hold(driver, graph, capture, kept)
                finally:
                    driver.exchange_capture_mode(mode)
            except Exception as error:
                kept.unheld = f"its memory could not be kept: {type(error).__name__}: {error}"
                kept.refused = kept.refused or kept.unheld
        self.cost_ns += clock() - start

    @staticmethod
    def _hold(driver: ReplayDriver, graph: Any, capture: OpenCapture, kept: Kept) -> None:
        if not _pin_pool(kept.device, capture.pool):
            kept.held.append(graph)
            kept.notes.append(
                "torch has no call to keep a graph's memory pool: the graph object itself was "
                "kept, so the recording does not say when the script let go of it"
            )
        segments = memory_segments()
        blocks = blocks_of(segments, kept.device)
        found = addresses(kept.graph)
        foreign = 0
        for address, pointer in found.items():
            if blocks.find(address) is not None:
                kept.resolved[address] = pointer
            elif foreign < MOST_FOREIGN:
                foreign += 1
                if driver.range_of(address) is not None:
                    kept.resolved[address] = pointer
        kept.buffers = {address: driver.buffer_of(address) for address in kept.resolved}
        # What lies in a graph's own pool stays by the pool. Holding tensors there would look to
        # the compiler's graph trees as if the script still used its outputs.
        common = blocks_of(segments, kept.device, common_only=True)
        kept.held += storages([item for item in kept.resolved if common.find(item) is not None])

    def function(self, serial: int, call: Callable[[], Any]) -> None:
        """Take note of the function that a graph was captured from by us."""
        for kept in self.kept:
            if kept.serial == serial:
                kept.call = call

    def failed(self, driver: Any, capture: OpenCapture) -> None:
        """Drop the clone of a capture that did not end well."""
        kept = self._pending.pop(id(capture), None)
        if kept is not None and kept.clone:
            with suppress(Exception):
                driver.destroy(kept.clone)


def _pin_pool(device: int | None, pool: tuple[int, int] | None) -> bool:
    """Add a user to a graph's memory pool, so that its memory stays when the graph goes."""
    if device is None or pool is None:
        return False
    from torch import _C

    begin = getattr(_C, "_cuda_beginAllocateCurrentThreadToPool", None)
    end = getattr(_C, "_cuda_endAllocateToPool", None)
    if begin is None or end is None:
        return False
    # Nothing is allocated in between; beginning is what counts as a use.
    begin(device, pool)
    end(device, pool)
    return True


def storages(wanted: list[int]) -> list[Any]:
    """Return storages of live CUDA tensors that any of some addresses lies in.

    Tensors that only C++ knows, such as what autograd saved, are not among them.
    """
    import torch

    ordered = sorted(wanted)
    found: dict[int, Any] = {}

    def hold(tensor: Any) -> None:
        storage = tensor.untyped_storage()
        start = storage.data_ptr()
        at = bisect_left(ordered, start)
        if at < len(ordered) and ordered[at] < start + storage.nbytes():
            found.setdefault(start, storage)

    # Subclasses that wrap tensors hold plain ones; others, such as fake tensors, have no memory.
    plain = (torch.Tensor, torch.nn.Parameter)
    for item in gc.get_objects():
        if type(item) not in plain:
            continue
        with suppress(Exception):
            if item.is_cuda:
                hold(item)
                # A gradient that Python never asked for exists in C++ only.
                if item.is_leaf and item.requires_grad and item.grad is not None:
                    hold(item.grad)
    return list(found.values())
