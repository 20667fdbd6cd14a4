"""What Python code calls: :func:`record`, :func:`capture`, :func:`from_graph`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import GraphLensError, NothingRecordedError, WorkloadError
from ..extract import Extraction, extract
from ..model import Graph, GraphInfo, Metadata, Place, Recording
from . import folder as folders
from . import process
from .assemble import assemble_journals
from .handles import handle_of
from .journal import FileJournal, MemoryJournal
from .pack import ADVICE, pack
from .places import Spot, locate, place_key, short_name
from .sink import Sink
from .torch_capture import WARM_UPS, capture_function, place_of, require_torch


@contextmanager
def record(path: str | os.PathLike[str], force: bool = False) -> Iterator[None]:
    """Record every graph that is captured inside the ``with`` block.

    Parameters
    ----------
    path : path-like
        File to write; until the block ends the recording grows in a folder beside it.
    force : bool
        Replace a file that is there.

    Raises
    ------
    OutputError
        The file exists or cannot be written; before the block is entered.
    MissingDependencyError, NoGpuError
        There is nothing to record with.
    NothingRecordedError
        The block captured no graph. Not raised when an exception leaves the block.

    Examples
    --------
    >>> with capture.record("run.cgl"):  # doctest: +SKIP
    ...     with torch.cuda.graph(graph):
    ...         y = model(x)
    """
    torch = require_torch()
    output = Path(path)
    session = process.hook(torch.cuda.graphs)
    session.driver()
    folder = folders.make(output, list(sys.argv), force)
    sink = Sink(FileJournal(folder))
    owner = os.getpid()
    session.add(sink)
    try:
        yield
    except BaseException:
        _close(sink, owner)
        if os.getpid() == owner:
            _pack_quietly(folder, output, force)
        raise
    _close(sink, owner)
    if os.getpid() == owner:
        folders.write_exit(folder, None)
        pack(folder, output, force)


def _close(sink: Sink, owner: int) -> None:
    process.session().remove(sink)
    if os.getpid() == owner:
        process.unhook()


def _pack_quietly(folder: Path, output: Path, force: bool) -> None:
    """Keep what there is without getting in the way of the exception that ends the block."""
    try:
        folders.write_exit(folder, None)
        pack(folder, output, force)
    except NothingRecordedError:
        pass
    except GraphLensError as error:
        sys.stderr.write(f"cglens: {error}; get the recording with `cglens recover {folder}`\n")


def capture(
    function: Callable[..., Any],
    *args: Any,
    warmup: int = WARM_UPS,
    replays: int = 0,
    **kwargs: Any,
) -> Recording:
    """Capture ``function(*args, **kwargs)`` into a graph and return the recording.

    Parameters
    ----------
    function : callable
        Does its work on the GPU and neither synchronises nor reads values on the host. One that
        captures graphs itself is only observed.
    warmup : int
        Calls on a side stream before the capture.
    replays : int
        Replays of the graph afterwards; they change what the function changes.

    Raises
    ------
    MissingDependencyError, NoGpuError
        There is nothing to capture with.
    NothingRecordedError
        The function made no graph.

    Notes
    -----
    Whatever the function raises comes through unchanged.
    """
    torch = require_torch()
    session = process.hook(torch.cuda.graphs)
    journal = MemoryJournal()
    sink = Sink(journal)
    metadata = Metadata(
        title=getattr(function, "__qualname__", type(function).__name__),
        command=list(sys.argv),
        started_unix_ns=time.time_ns(),
        source="recorded",
    )
    session.add(sink)
    try:
        handle = capture_function(session, function, args, kwargs, warmup, replays)
        if handle is not None:
            add_handle(handle, str(metadata.title), place_of(function))
    finally:
        session.remove(sink)
        process.unhook()
    recording = assemble_journals(metadata, [("memory", journal.open)])
    if not recording.graphs and not recording.failed:
        raise NothingRecordedError(f"the function captured no CUDA graph; {ADVICE}")
    return recording


def from_graph(graph: Any, *, name: str = "") -> Graph:
    """Read a graph that exists.

    Parameters
    ----------
    graph : torch.cuda.CUDAGraph, int, CUgraph or cudaGraph_t
        A torch graph needs ``keep_graph=True``. An integer is taken as a ``CUgraph`` handle: a
        wrong one crashes the process, as with any call of the driver.
    name : str, optional
        Name shown to people.

    Returns
    -------
    Graph
        Inside a recording it is added to that as well.

    Raises
    ------
    WorkloadError
        The object holds no graph.
    MissingDependencyError, NoGpuError, DriverError
        It cannot be read.
    """
    handle = handle_of(graph)
    if handle is None:
        raise WorkloadError(
            f"a {type(graph).__name__} is no graph: expected a torch.cuda.CUDAGraph made with "
            f"keep_graph=True, or a CUgraph handle"
        )
    return add_handle(handle, name).graph


def add_handle(handle: int, name: str = "", place: Place | None = None) -> Extraction:
    """Read a handle and add the graph to every recording that is going on."""
    session = process.session()
    begin_ns = time.perf_counter_ns()
    extraction = extract(session.driver(), handle, name=name)
    if session.active:
        spot = Spot(place, [], "", False, False) if place else locate(sys._getframe(1))
        info = GraphInfo(
            key=place_key(spot.place, session.roots),
            name=name or short_name(spot.place, spot.label),
            label=spot.label,
            how="handle",
            place=spot.place,
            started_ns=begin_ns,
            read_duration_ns=extraction.duration_ns,
            evidence=extraction.evidence,
            warnings=extraction.warnings,
        )
        session.handle(info, extraction)
    return extraction


def recording_of(graph: Any, *, name: str = "") -> Recording:
    """Read a graph that exists, as :func:`from_graph`, and return a recording of it alone."""
    journal = MemoryJournal()
    sink = Sink(journal)
    metadata = Metadata(
        title=name, command=list(sys.argv), started_unix_ns=time.time_ns(), source="recorded"
    )
    session = process.session()
    session.driver()
    session.add(sink)
    try:
        from_graph(graph, name=name)
    finally:
        session.remove(sink)
    return assemble_journals(metadata, [("memory", journal.open)])
