"""Finding: random numbers that are the same in every replay."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ..arguments import signature
from ..model import EvidenceKind, Kernel, Place
from ..noticed import HOST_RANDOM, SEEDS, ConstantSeed, Noticed, noticed_in
from .base import Analysis, Cell, Column, Quantity, Result, Severity, Unit
from .record_stream import line_of
from .subject import Subject

PHILOX = "at::PhiloxCudaState"
STATE_BYTES = 32
COLUMNS = [
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("what", Unit.TEXT),
    Column("evidence", Unit.TEXT),
    Column("at", Unit.TEXT),
    Column("confidence", Unit.TEXT),
]
WHY = (
    "torch keeps seed and offset of a captured generator on the GPU and advances them before each "
    "replay(). Numbers that do not come from there repeat: a seed that is a number, an executable "
    "that is launched without torch, or numbers drawn on the CPU while the graph was captured."
)
ADVICE = (
    "Load the seed from a tensor that the graph or the script advances; call CUDAGraph.replay() "
    "instead of launching the executable; register a generator of your own "
    "(register_generator_state); draw on the GPU what has to differ from replay to replay."
)
CONSTANT = "seed and offset are stored in the graph"
SEED = "the seed is stored in the graph"
TAKEN = "the executable was taken, to be launched without torch's replay"
UNMANAGED = "launched by something other than torch's replay"
DRAWN = "numbers were drawn on the CPU in the capture"


class Philox(NamedTuple):
    """What a kernel was given as ``at::PhiloxCudaState``."""

    seed: int
    """Address of the seed, or the seed itself."""
    offset: int
    intragraph: int
    captured: bool
    """Whether seed and offset are addresses, which torch fills before each replay."""
    sure: bool = True
    """Whether the kernel's signature says which parameter it is; otherwise its size did."""


def philox_of(kernel: Kernel | None, arguments: bytes | None) -> Philox | None:
    """Read the generator's state that a kernel was launched with; ``None`` where it has none.

    Notes
    -----
    ``ATen/cuda/detail/PhiloxCudaStateRaw.cuh``: two unions of value and pointer, the offset inside
    the graph (64 bits; 32 before torch 2.7), and a flag.

    Examples
    --------
    >>> kernel = Kernel(name="_Z4drawN2at15PhiloxCudaStateE", parameters=[(0, 32)])
    >>> philox_of(kernel, struct.pack("<QQQ8s", 42, 0, 0, bytes(8)))
    Philox(seed=42, offset=0, intragraph=0, captured=False, sure=True)
    """
    if kernel is None or not arguments or "PhiloxCudaState" not in kernel.name:
        return None
    place = _parameter(kernel.name, tuple(kernel.parameters or ()))
    if place is None or place[0] + place[1] > len(arguments):
        return None
    offset, size, sure = place
    if size == 32:
        seed, start, inside, flag = struct.unpack_from("<QQQB", arguments, offset)
    elif size == 24:
        seed, start, inside, flag = struct.unpack_from("<QQIB", arguments, offset)
    else:
        return None
    return Philox(seed, start, inside, flag == 1, sure) if flag <= 1 else None


@lru_cache(maxsize=4096)
def _parameter(name: str, parameters: tuple[tuple[int, int], ...]) -> tuple[int, int, bool] | None:
    """Return offset and size of the state, and whether the signature tells."""
    declared = signature(name)
    if declared is not None and len(declared) == len(parameters):
        for type_, place in zip(declared, parameters, strict=True):
            if type_.removesuffix(" const") == PHILOX:
                return *place, True
        return None
    # Names with local types of anonymous namespaces cannot be read; the state's size is rare.
    fit = [place for place in parameters if place[1] == STATE_BYTES]
    return (*fit[0], False) if len(fit) == 1 else None


class _Draw(NamedTuple):
    node: str
    position: int
    state: Philox


def _draws(subject: Subject) -> Iterator[_Draw]:
    for path, level in subject.graph.walk():
        for position, type_ in enumerate(level.topology.types):
            payload = level.payloads[position]
            if type_ != "kernel" or payload is None:
                continue
            state = philox_of(payload.kernel, payload.arguments)
            if state is not None:
                node = f"{path}/{position}" if path else str(position)
                yield _Draw(node, int(node.partition("/")[0]), state)


def _seeded(subject: Subject, noticed: Noticed) -> Iterator[tuple[int, ConstantSeed, bool]]:
    """Yield positions of kernels with a constant seed, and whether it is surely this node."""
    nodes: dict[str, list[int]] = {}
    for position, payload in enumerate(subject.graph.payloads):
        kernel = getattr(payload, "kernel", None)
        if kernel is not None:
            nodes.setdefault(kernel.name, []).append(position)
    for seed in noticed.seeds:
        here = nodes.get(seed.kernel, [])
        exact = len(here) == noticed.launches.get(seed.kernel)
        if here:
            yield here[min(seed.launch, len(here) - 1)], seed, exact


def run(subject: Subject) -> Result:
    """Look for random numbers that repeat: in kernels, Triton launches, and draws on the CPU."""
    result = Result(columns=COLUMNS, mark_name="drawing the same numbers in every replay")
    noticed = noticed_in(subject.info) or Noticed()
    draws = list(_draws(subject))
    repeated: list[tuple[int, tuple[Cell, ...]]] = []

    def add(node: str, position: int, what: str, how: str, at: str, sure: str) -> None:
        path = f"{subject.path}/{node}" if subject.path else node
        name = subject.label(position)
        repeated.append((position, (path, name, what, how, at, sure)))

    launched_by = _launcher(subject, noticed)
    for node, position, state in draws:
        if not state.captured:
            how = f"{PHILOX} holds the numbers {state.seed} and {state.offset}"
            add(node, position, CONSTANT, how, "", "certain" if state.sure else "likely")
        elif launched_by is not None:
            how = f"{PHILOX} holds addresses, which only torch's replay fills"
            add(node, position, launched_by[0], how, launched_by[1], launched_by[2])
    if not subject.path:
        for position, seed, exact in _seeded(subject, noticed):
            how = f"parameter {seed.parameter!r} of tl.rand or its like was the number {seed.value}"
            sure = "likely" if exact else "may"
            add(str(position), position, SEED, how, line_of(seed.place), sure)
        if noticed.host_random:
            how = f"the state of {', '.join(noticed.host_random)} moved on inside the capture"
            row: tuple[Cell, ...] = ("", "", DRAWN, how, line_of(_place(subject)), "likely")
            result.rows.append(row)
    result.rows[:0] = [row for _, row in repeated]
    result.node_marks = sorted({position for position, _ in repeated})
    certain = sum(row[-1] == "certain" for row in result.rows)
    result.figures = {
        "nodes": Quantity(len(result.node_marks), Unit.COUNT),
        "draws": Quantity(len(draws), Unit.COUNT),
    }
    for what in (SEEDS, HOST_RANDOM):
        if noticed.unknown(what):
            result.notes.append(f"Not looked at: {what}, which takes a recorded capture.")
    if result.rows:
        result.severity = Severity.WARNING if certain else Severity.NOTICE
        result.summary = (
            "{nodes} nodes draw, or may draw, the same random numbers in every replay."
            if repeated
            else "Random numbers were drawn on the CPU while the graph was captured."
        )
        result.notes[:0] = [WHY, ADVICE]
    else:
        result.summary = (
            "{draws} nodes draw random numbers from a state that torch advances before each replay."
            if draws
            else "No node is known to draw random numbers."
        )
    return result


def _launcher(subject: Subject, noticed: Noticed) -> tuple[str, str, str] | None:
    """Say who launches the graph, where it is not torch: words, line and confidence."""
    if noticed.executable_taken is not None:
        return TAKEN, line_of(noticed.executable_taken), "likely"
    if subject.info is not None and subject.info.how == "handle":
        return UNMANAGED, "", "may"
    return None


def _place(subject: Subject) -> Place | None:
    return subject.info.place if subject.info is not None else None


ANALYSIS = Analysis(
    name="random_state",
    title="Random numbers that repeat",
    description="Which nodes draw the same random numbers in every replay.",
    run=run,
    uses=(EvidenceKind.PARAMETERS,),
    finding=True,
)
