"""Makes a failure out of what is known of a capture and of the errors around it."""

from __future__ import annotations

import sys
import threading

import msgspec

from ..extract import Extraction
from ..failures import UNKNOWN, Facts, Frame, Raised, classify
from ..failures.error_codes import INVALIDATED, UNJOINED, is_cuda
from ..model import Failure, Place
from .causes import raised, stack_of
from .open_capture import OpenCapture

MAX_STACK = 40
"""Frames that are stored of a failure."""
OTHER_FRAMES = 12
"""Frames that are looked at of each other thread."""
MAX_OTHERS = 32
STATUS = {1: "active", 2: "invalidated"}
"""Words for ``CUstreamCaptureStatus``."""


def failure_of(
    capture: OpenCapture, surfaced: Raised, stage: str, errors: list[Raised], watched: bool
) -> Failure:
    """Say why a capture failed.

    Parameters
    ----------
    capture : OpenCapture
    surfaced : Raised
        The error that reached the script.
    stage : str
        See :class:`~capture.failures.Facts`.
    errors : list of Raised
        Errors about CUDA that Python raised while the capture was open, in order.
    watched : bool
        Whether such errors were listened to.
    """
    read = capture.extraction is not None
    failure = Failure(
        error=surfaced.error,
        message=surfaced.message,
        nodes_read=read,
        reason="" if read else capture.unread,
        stream=f"{capture.stream_handle:#x}" if capture.stream_handle else "",
    )
    failure.place = place_of(surfaced.place) or capture.spot.place
    try:
        _explain(failure, facts_of(capture, surfaced, stage, errors, watched), capture)
    except Exception as error:
        failure.kind = UNKNOWN.name
        failure.because = f"it could not be judged: {type(error).__name__}: {error}"
    return failure


def facts_of(
    capture: OpenCapture, surfaced: Raised, stage: str, errors: list[Raised], watched: bool
) -> Facts:
    """Gather what kinds of failure are told apart by."""
    first = first_of(surfaced, errors or capture.chain, capture.status)
    unjoined: tuple[int, ...] = ()
    if first.code == UNJOINED and capture.extraction is not None:
        unjoined = unjoined_nodes(capture.extraction, capture.last_nodes)
    followed = first.code in (None, INVALIDATED) and capture.status != STATUS[1]
    return Facts(
        first=first,
        surfaced=surfaced,
        stage=stage,
        status=capture.status,
        mode=capture.mode,
        thread=capture.thread,
        node_count=None if capture.extraction is None else len(capture.extraction.graph),
        operator=capture.operator,
        broke_in=capture.broke_in,
        outside=capture.outside,
        after=last_line(capture),
        unjoined=unjoined,
        others=other_threads() if followed else (),
        watched=watched,
    )


def last_line(capture: OpenCapture) -> str:
    """Return the line that made the last node; empty where that is not known."""
    if capture.extraction is None:
        return ""
    place = capture.place_of_node(len(capture.extraction.graph) - 1)
    return f"{place.file}:{place.line}" if place is not None else ""


def first_of(surfaced: Raised, errors: list[Raised], status: str = "") -> Raised:
    """Return the error to explain.

    After the first refused call CUDA answers every other with the same words about a previous
    error; then the first error that was about something else is the one. So it is where an error
    of the script's left a capture that CUDA had given up before.
    """
    if surfaced.code not in (None, INVALIDATED):
        return surfaced
    if surfaced.code is None and surfaced.frames and status != STATUS[2]:
        return surfaced
    if surfaced.code is None and is_cuda(surfaced.error, surfaced.message):
        return surfaced
    for error in [*(e for e in errors if e.code is not None), *errors]:
        if error.code != INVALIDATED:
            return error
    return surfaced


def unjoined_nodes(extraction: Extraction, last_nodes: list[int]) -> tuple[int, ...]:
    """Return positions of nodes without successors that the capturing stream does not wait for.

    Parameters
    ----------
    extraction : Extraction
    last_nodes : list of int
        Handles of the nodes that the capturing stream's next node would depend on.
    """
    topology = extraction.graph.topology
    with_successors = set(topology.source)
    handles = next((nodes for path, nodes in extraction.handles if not path), [])
    joined = set(last_nodes)
    return tuple(
        position
        for position, handle in enumerate(handles)
        if position not in with_successors and handle not in joined
    )


def other_threads() -> tuple[tuple[str, tuple[Frame, ...]], ...]:
    """Return what the other threads of Python are doing, at most `MAX_OTHERS` of them."""
    frames = sys._current_frames()
    here = threading.get_ident()
    found = [
        (thread.name, stack_of(frames[thread.ident], OTHER_FRAMES))
        for thread in threading.enumerate()
        if thread.ident in frames and thread.ident != here and thread.name != "cglens"
    ]
    return tuple(found[:MAX_OTHERS])


def last_error() -> Raised | None:
    """Return the exception that ended the script, if one did."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return raised(error, "MainThread") if isinstance(error, BaseException) else None


def place_of(frame: Frame | None) -> Place | None:
    """Return a frame as a place."""
    if frame is None:
        return None
    return Place(file=frame.file, line=frame.line, function=frame.function)


def omissions(capture: OpenCapture) -> list[str]:
    """Say what a capture that ended well left out without an error."""
    found = []
    for left in capture.left_out:
        at = f" at {left.place.file}:{left.place.line}" if left.place else ""
        times = f", {left.times} times" if left.times > 1 else ""
        found.append(
            f"{left.operator}{at} is not in the graph{times}: it was launched on stream "
            f"{left.stream}, which is not part of the capture, so it ran at once and no replay "
            f"repeats it; let that stream wait for the capturing one before"
        )
    extraction = capture.extraction
    if extraction is not None and not len(extraction.graph) and not capture.spot.internal:
        found.append(
            "the capture ended well, but the graph is empty: nothing was launched on a stream "
            "that is part of the capture"
        )
    return found


def _explain(failure: Failure, facts: Facts, capture: OpenCapture) -> None:
    failure.facts = msgspec.to_builtins(facts)
    verdict = classify(facts)
    failure.kind, failure.confidence, failure.because, failure.alternatives = verdict
    first = facts.first
    failure.code = first.code
    failure.thread = first.thread or capture.thread
    failure.operator = facts.operator
    failure.unjoined = list(facts.unjoined)
    failure.stack = [
        Place(file=frame.file, line=frame.line, function=frame.function)
        for frame in first.frames[:MAX_STACK]
    ]
    if first is not facts.surfaced:
        failure.first_error = f"{first.error}: {first.line}"
    frame = first.place
    if frame is not None and frame.user:
        failure.place = place_of(frame)
        failure.call = frame.call
        failure.found_by = (
            "the traceback of the error"
            if first is facts.surfaced
            else "the first error that Python raised while the capture was open"
        )
    else:
        failure.found_by = "where the capture began: no line of the script was on the stack"
    if facts.stage == "end" and first is facts.surfaced and first.code in (INVALIDATED, UNJOINED):
        failure.found_by = "where the capture ended: the error says nothing about what came before"
        failure.call = ""
    elif first.code == INVALIDATED:
        failure.found_by = "where CUDA next refused to go on: the reason lies before it"
    if facts.unjoined:
        place = next(filter(None, map(capture.place_of_node, facts.unjoined)), None)
        if place is not None:
            failure.place = place
            failure.stack = [place, *failure.stack]
            failure.found_by = "origin of the node that nothing waits for"
