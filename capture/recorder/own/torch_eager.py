"""A function of the user's without a graph: timed, profiled, and captured again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import perf_counter_ns as clock
from typing import Any

from ...benchmarks import Eager
from .eager_split import ProfiledEvent, split

RANGE = "cglens: one call"


class EagerCalls:
    """Calls of a function that was captured by us.

    Parameters
    ----------
    call : callable
        Without arguments.
    """

    def __init__(self, call: Callable[[], Any]) -> None:
        import torch

        self._call = call
        make: Callable[..., Any] = torch.cuda.Event
        self._before, self._after = make(enable_timing=True), make(enable_timing=True)
        self._synchronize: Callable[[], None] = torch.cuda.synchronize

    def sample(self) -> tuple[int, int, int]:
        """Call it once on an idle device; return call, CPU and GPU time in nanoseconds."""
        self._synchronize()
        self._before.record()
        start = clock()
        result = self._call()
        returned = clock()
        self._after.record()
        self._after.synchronize()
        ended = clock()
        del result
        self._synchronize()  # streams of the function's own, which it may not have joined
        return ended - start, returned - start, round(self._before.elapsed_time(self._after) * 1e6)

    def profile(self, eager: Eager) -> None:
        """Split the CPU time of one call; takes CUPTI, so nothing is timed after it.

        Writes into `eager`; what goes wrong becomes its reason.
        """
        try:
            found = split(*self._profiled())
        except Exception as error:
            eager.reason = f"no split: {type(error).__name__}: {error}"
            return
        eager.share = found.share
        eager.profiled_cpu_ns = found.wall_ns
        eager.busy_ns = found.busy_ns or None
        eager.launches = found.launches or None
        eager.calls = found.calls
        if not found.launches:
            eager.reason = "the profiler saw nothing on the device: busy time is not known"

    def _profiled(self) -> tuple[list[ProfiledEvent], int, int]:
        from torch.autograd.profiler import record_function
        from torch.profiler import ProfilerActivity, profile

        self._synchronize()
        activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
        with warnings.catch_warnings(), profile(activities=activities) as profiler:
            warnings.simplefilter("ignore")  # nobody asked for a profile here
            self._call()  # the first call under a profiler pays for starting it
            self._synchronize()
            with record_function(RANGE):
                self._call()
            self._synchronize()
        events = [_event(item) for item in profiler.events()]
        ranges = [event for event in events if event.name == RANGE and not event.device]
        if not ranges:
            raise ValueError("the profiler lost the range around the call")
        start_ns, end_ns = ranges[-1].start_ns, ranges[-1].end_ns
        # What the call launched runs until after it has returned.
        inside = [event for event in events if event.start_ns >= start_ns]
        return [event for event in inside if event.name != RANGE], start_ns, end_ns


def _event(item: Any) -> ProfiledEvent:
    device = "CPU" not in str(item.device_type)
    return ProfiledEvent(
        name=str(item.name),
        start_ns=round(item.time_range.start * 1000),
        end_ns=round(item.time_range.end * 1000),
        device=device,
        annotation=bool(getattr(item, "is_user_annotation", False)),
    )


def capture_again_ns(call: Callable[[], Any]) -> int:
    """Capture a function once more and return how long that took, from begin to end.

    The context manager of torch is not used: it empties the allocator's cache, and with it
    memory that kept graphs may point into.
    """
    import torch

    graph = torch.cuda.CUDAGraph()
    stream: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        graph.capture_begin()
        start = clock()
        try:
            result = call()
        finally:
            took = clock() - start
            graph.capture_end()
        del result
    torch.cuda.synchronize()
    graph.reset()
    return took
