"""What replays of our own measured of one graph: evidence that hangs beside it.

Everything here comes from an executable of our own, made of a clone of the captured graph and
launched on request after the workload had ended, or from eager calls of a function that was
captured by us. Lists named ``*_ns`` are samples in the order in which they were taken, so that
distributions can be drawn; an empty list was not measured.
"""

from __future__ import annotations

from typing import Any

import msgspec

SPLIT = ("python", "dispatch", "runtime", "driver")
"""Where the CPU time of an eager call goes, outermost first; each excludes the next."""


class Eager(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Calls of the function without a graph.

    Attributes
    ----------
    call_ns : list of int
        From the start of a call until the device has finished its work.
    cpu_ns : list of int
        From the start of a call until it returns, with an idle device before it.
    gpu_ns : list of int
        Between two events around a call, on the device.
    busy_ns : int or None
        Time in which the device ran anything, in one profiled call.
    launches : int or None
        Kernels, copies and memsets of one profiled call.
    share : dict of str to float
        Shares of `cpu_ns` by :data:`SPLIT`, from a profiled call: they add up to 1.
    profiled_cpu_ns : int or None
        CPU time of the profiled call; compare it with `cpu_ns` to see what profiling cost.
    calls : dict of str to list of int
        Runtime and driver functions of one profiled call: count, total time in nanoseconds.
    reason : str
        Why there are no calls, or no split.
    """

    call_ns: list[int] = msgspec.field(default_factory=list)
    cpu_ns: list[int] = msgspec.field(default_factory=list)
    gpu_ns: list[int] = msgspec.field(default_factory=list)
    busy_ns: int | None = None
    launches: int | None = None
    share: dict[str, float] = msgspec.field(default_factory=dict)
    profiled_cpu_ns: int | None = None
    calls: dict[str, list[int]] = msgspec.field(default_factory=dict)
    reason: str = ""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class NodeCosts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What nodes cost without a tracer; columns are parallel, -1 is a value that was not taken.

    Attributes
    ----------
    node : list of str
        Path of the captured node.
    isolated_ns : list of int
        The node's work in a graph of its own, repeated in a chain, divided by the repetitions.
    marginal_ns : list of int
        Median replay with the node minus median replay without it; may be negative.
    repetitions : int
        Of the chain.
    spread_ns : int
        Interquartile range of the replays with all nodes: marginal costs below it are noise.
    reasons : dict of str to str
        Why a node has no value, by node.
    """

    node: list[str] = msgspec.field(default_factory=list)
    isolated_ns: list[int] = msgspec.field(default_factory=list)
    marginal_ns: list[int] = msgspec.field(default_factory=list)
    repetitions: int = 0
    spread_ns: int = 0
    reasons: dict[str, str] = msgspec.field(default_factory=dict)
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class Removal(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Replays without some nodes, in turns with replays with all of them.

    The nodes are taken out of a clone, whose other nodes wait for each other as before.

    Attributes
    ----------
    asked : str
        The selection as it was asked for, such as ``"type:memset"``.
    nodes : list of str
        Paths of the nodes that were taken out.
    left : dict of str to str
        Nodes of the selection that could not be, and why.
    with_ns, without_ns : list of int
        GPU time of replays.
    reason : str
        Why nothing was measured.
    """

    asked: str
    nodes: list[str] = msgspec.field(default_factory=list)
    left: dict[str, str] = msgspec.field(default_factory=dict)
    with_ns: list[int] = msgspec.field(default_factory=list)
    without_ns: list[int] = msgspec.field(default_factory=list)
    reason: str = ""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class Conditions(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The device's state while it was measured, as NVML tells it; columns are parallel.

    Attributes
    ----------
    at_ns : list of int
        Since the benchmark's start.
    sm_clock_mhz, memory_clock_mhz, power_mw, temperature_c : list of int
        -1 where NVML has no answer.
    throttle_reasons : list of str
        NVML's reasons why clocks were held down, each once, ``"idle"`` left out.
    max_sm_clock_mhz : int or None
    processes : list of dict
        Other processes on the device: ``pid``, ``name``, ``memory_bytes``.
    reason : str
        Why there is nothing.
    """

    at_ns: list[int] = msgspec.field(default_factory=list)
    sm_clock_mhz: list[int] = msgspec.field(default_factory=list)
    memory_clock_mhz: list[int] = msgspec.field(default_factory=list)
    power_mw: list[int] = msgspec.field(default_factory=list)
    temperature_c: list[int] = msgspec.field(default_factory=list)
    throttle_reasons: list[str] = msgspec.field(default_factory=list)
    max_sm_clock_mhz: int | None = None
    processes: list[dict[str, Any]] = msgspec.field(default_factory=list)
    reason: str = ""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class Benchmark(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Replays of our own of one graph.

    Attributes
    ----------
    graph : str
        Key of the graph.
    refused : str
        Why it was not replayed, and what would allow it; everything measured is empty then.
    notes : list of str
        What a reader has to know of the figures, such as memory that could not be saved.
    capture_ns : list of int
        Captures of the same function; one for a graph that a script captured.
    instantiate_ns, upload_ns, first_launch_ns : list of int
        CPU time, of executables made one after another.
    launch_cpu_ns : list of int
        CPU time of the call that launches a replay, with an idle device before it.
    replay_ns : list of int
        GPU time of a replay right after another: a warm L2.
    cold_replay_ns : list of int
        GPU time of a replay after other memory, twice the L2's size, was written.
    executable_bytes : int or None
        Device memory that instantiate and upload took.
    eager : Eager or None
    nodes : NodeCosts or None
    removals : list of Removal
    conditions : Conditions or None
    saved_bytes : int
        Memory that replays may write, saved before and restored after.
    """

    graph: str
    refused: str = ""
    notes: list[str] = msgspec.field(default_factory=list)
    capture_ns: list[int] = msgspec.field(default_factory=list)
    instantiate_ns: list[int] = msgspec.field(default_factory=list)
    upload_ns: list[int] = msgspec.field(default_factory=list)
    first_launch_ns: list[int] = msgspec.field(default_factory=list)
    launch_cpu_ns: list[int] = msgspec.field(default_factory=list)
    replay_ns: list[int] = msgspec.field(default_factory=list)
    cold_replay_ns: list[int] = msgspec.field(default_factory=list)
    executable_bytes: int | None = None
    eager: Eager | None = None
    nodes: NodeCosts | None = None
    removals: list[Removal] = msgspec.field(default_factory=list)
    conditions: Conditions | None = None
    saved_bytes: int = 0
    extra: dict[str, Any] = msgspec.field(default_factory=dict)
