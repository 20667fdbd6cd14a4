"""One kept graph made ready: its memory checked and saved, and put back afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ...benchmarks import Benchmark
from ...errors import GraphLensError
from ...memory.addresses import (
    BlockMap,
    addresses,
    blocks_of,
    lost,
    private_spans,
    replaced,
    temporaries_of,
)
from ..torch_allocator import memory_segments
from .conditions import Watcher
from .saved_state import Region, SavedState, TooLargeError, host_bytes, plan
from .setup import Setup
from .stopwatch import Stopwatch
from .torch_keep import Kept


@contextmanager
def ready(driver: Any, kept: Kept, benchmark: Benchmark, *, partly: bool) -> Iterator[Setup | None]:
    """Save memory and make a setup; put everything back afterwards.

    Parameters
    ----------
    driver : ReplayDriver
    kept : Kept
    benchmark : Benchmark
        Told what was saved, what could not be, or why the graph is refused; then there is no
        setup.
    partly : bool
        Go on where not everything could be saved.
    """
    segments = memory_segments()
    blocks = blocks_of(segments, kept.device)
    benchmark.refused = freed(driver, kept, blocks)
    if benchmark.refused:
        yield None
        return
    driver.synchronize_device()
    saved = plan(driver, addresses(kept.graph), blocks)
    spans = private_spans(segments, kept.device, (region.start for region in saved.regions))
    inside = {Region(*one) for one in blocks.blocks if spans.find(one.start) is not None}
    try:
        state = SavedState(
            driver,
            sorted({*saved.regions, *inside}),
            host_bytes(),
            partly=partly,
            temporaries=temporaries_of(segments, kept.device),
        )
    except TooLargeError as error:
        benchmark.refused = str(error)
        yield None
        return
    watch = Stopwatch(driver)
    setup = Setup(driver, kept.graph, kept.clone, kept.nodes, state, watch)
    setup.spans = spans
    benchmark.saved_bytes = state.size_bytes
    for note in saved.notes:
        _once(benchmark.notes, note)
    if state.left_out:
        left = sum(region.size_bytes for region in state.left_out)
        _once(
            benchmark.notes,
            f"not saved, for want of room: {left >> 20:,} MiB in {len(state.left_out)} blocks, "
            f"the largest; replays may have changed what is in them",
        )
    if state.on_host:
        _once(benchmark.notes, "memory was saved on the host: the device had no room for it")
    try:
        yield setup
        watch.idle()
        state.restore(watch.stream)
        compared, wrong = state.differing(watch.stream)
        if wrong:
            _once(
                benchmark.notes,
                f"{wrong} blocks of memory differ after they were put back ({compared} bytes "
                f"compared): something else wrote to them",
            )
    finally:
        if not watch.hung:
            with suppress(GraphLensError):
                setup.close()
                state.close()
                watch.close()


def freed(driver: Any, kept: Kept, blocks: BlockMap | None = None) -> str:
    """Say which memory that a graph uses is not there any more; empty when all is.

    To make an executable of a copy whose allocation is gone crashes the driver, also where
    another one has taken its place.
    """
    if blocks is None:
        blocks = blocks_of(memory_segments(), kept.device)
    known = [
        address
        for address in kept.resolved
        if blocks.find(address) is None and driver.range_of(address) is not None
    ]
    gone, now = lost(kept.resolved, blocks, known), "is none now"
    if gone is None:
        gone, now = replaced(kept.resolved, kept.buffers, driver.buffer_of), "is another's now"
    if gone is None:
        return ""
    address, pointer = gone
    return (
        f"memory it uses was freed: {pointer.what} of node {pointer.node} "
        f"({address:#x}) was memory at capture and {now}; keep what the graph reads "
        f"and writes until the script ends"
    )


@contextmanager
def watched(kept: Kept, benchmark: Benchmark) -> Iterator[Watcher]:
    """Watch the device meanwhile; the first time is what a benchmark tells of."""
    watcher = Watcher(_uuid(kept.device))
    watcher.sample()
    try:
        yield watcher
    finally:
        found = watcher.close()
        if benchmark.conditions is None:
            benchmark.conditions = found
        if found.processes:
            _once(
                benchmark.notes,
                "other processes were on the device: they may have slowed replays, and taken "
                "memory that counts as the executable's",
            )


def _once(notes: list[str], note: str) -> None:
    if note not in notes:
        notes.append(note)


@contextmanager
def on_device(device: int | None) -> Iterator[None]:
    """Make a device the current one."""
    import torch

    if device is None:
        yield
        return
    with torch.cuda.device(device):
        yield


def _uuid(device: int | None) -> str:
    import torch

    properties = torch.cuda.get_device_properties(device or 0)
    return str(getattr(properties, "uuid", ""))
