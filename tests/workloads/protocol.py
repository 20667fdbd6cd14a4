"""What a workload is, and how one step becomes a captured, replayed and checked graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import torch

SEED = 20_26
WARM_UP_STEPS = 3
CHECK_STEPS = 3

Step = Callable[[], torch.Tensor]
State = Callable[[], Sequence[torch.Tensor]]


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload, built: its tensors exist, nothing has been captured.

    Attributes
    ----------
    name : str
        Name of the workload, equal to its module's.
    description : str
        One sentence on what it does and why it is among the ten.
    eager : callable
        Do one step without a graph and return its result; works on the CPU as well.
    run : callable
        Capture the graph or graphs the way a user's script would, replay each `n` times, wait,
        and return the last result.
    check : callable
        Raise :class:`AssertionError` unless replays give what eager execution gives.
    """

    name: str
    description: str
    eager: Step
    run: Callable[[int], torch.Tensor]
    check: Callable[[], None]


class WorkloadModule(Protocol):
    """What every workload's module has."""

    NAME: str
    DESCRIPTION: str

    def build(self, device: str = "cuda", small: bool = False) -> Workload:
        """Build the workload on `device`; `small` chooses sizes for a test on the CPU."""
        ...


def warm_up(step: Callable[[], object], steps: int = WARM_UP_STEPS) -> None:
    """Run `step` on a side stream, as a capture needs: libraries initialise, lazy state appears."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(steps):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()


def capture(
    step: Step, pool: tuple[int, int] | None = None
) -> tuple[torch.cuda.CUDAGraph, torch.Tensor]:
    """Capture one `step` and return the graph with the tensor that replays write."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        result = step()
    return graph, result


@contextmanager
def full_precision() -> Iterator[None]:
    """Keep TF32 out of matmuls and convolutions while results are compared."""
    matmul, cudnn = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = matmul
        torch.backends.cudnn.allow_tf32 = cudnn


def snapshot(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Copy `tensors`, so that :func:`restore` can put their values back."""
    return [tensor.detach().clone() for tensor in tensors]


def restore(tensors: Sequence[torch.Tensor], values: Sequence[torch.Tensor]) -> None:
    """Write `values` back into `tensors` in place: a graph holds their addresses."""
    with torch.no_grad():
        for tensor, value in zip(tensors, values, strict=True):
            tensor.copy_(value)


def from_step(
    name: str,
    description: str,
    step: Step,
    state: State = lambda: (),
    *,
    replays_per_reset: int | None = None,
    rtol: float = 1e-3,
    atol: float = 1e-4,
) -> Workload:
    """Make a workload of a function that does one step over static tensors.

    Parameters
    ----------
    name, description : str
        See :class:`Workload`.
    step : callable
        One step; neither synchronises nor depends on values on the host.
    state : callable, optional
        The tensors that a step changes in place, asked for after the warm-up.
    replays_per_reset : int, optional
        After so many replays, and at the end of a run, `state` is put back: for steps that
        fill something up (a cache). Whoever replays a graph of `eager` has to heed it as well.
    rtol, atol : float
        Tolerances of the check, for steps whose sums are not ordered (atomics).
    """

    def run(replays: int) -> torch.Tensor:
        warm_up(step)
        start = snapshot(state()) if replays_per_reset else []
        graph, result = capture(step)
        for replay in range(replays):
            if replays_per_reset and replay and replay % replays_per_reset == 0:
                restore(state(), start)
            graph.replay()
        torch.cuda.synchronize()
        result = result.clone()
        restore(state() if start else (), start)
        return result

    def check() -> None:
        with full_precision():
            warm_up(step)
            start = snapshot(state())
            torch.cuda.manual_seed(SEED)
            for _ in range(CHECK_STEPS):
                expected = step()
            expected, expected_state = expected.clone(), snapshot(state())
            if start and all(map(torch.equal, start, expected_state)):
                raise AssertionError(f"{name}: no step changed the declared state")
            restore(state(), start)
            graph, result = capture(step)
            torch.cuda.manual_seed(SEED)
            for _ in range(CHECK_STEPS):
                graph.replay()
            torch.cuda.synchronize()
            torch.testing.assert_close(result, expected, rtol=rtol, atol=atol)
            for after, wanted in zip(state(), expected_state, strict=True):
                torch.testing.assert_close(after, wanted, rtol=rtol, atol=atol)

    return Workload(name=name, description=description, eager=step, run=run, check=check)
