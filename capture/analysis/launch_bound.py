"""Whether a function would gain from running as a graph, and by how much."""

from __future__ import annotations

from ..distributions import differs
from ..model import EvidenceKind
from .base import Analysis, Argument, ArgumentKind, Cell, Column, Quantity, Result, Severity, Unit
from .disturbed import add_conditions
from .stored_benchmark import eager_against_graph, median_ns
from .subject import Subject

GAIN_THAT_MATTERS = 0.1
COLUMNS = [Column("quantity", Unit.TEXT), Column("time", Unit.NS)]


def run(
    subject: Subject,
    eager_ns: float | None = None,
    graph_ns: float | None = None,
    spread_ns: float | None = None,
    eager_gpu_ns: float | None = None,
    capture_ns: float | None = None,
    instantiate_ns: float | None = None,
) -> Result:
    """Compare one eager call with one replay, both measured on the same inputs.

    What is not given comes from the graph's benchmark. A difference within twice the spread is
    none. From a tenth of the eager time on, the function is launch-bound. O(samples).
    """
    benchmark = subject.benchmark if eager_ns is None or graph_ns is None else None
    compared = eager_against_graph(benchmark) if benchmark is not None else None
    if benchmark is not None and compared is not None:
        eager_ns = compared.eager_ns if eager_ns is None else eager_ns
        graph_ns = compared.graph_ns if graph_ns is None else graph_ns
        spread_ns = compared.spread_ns if spread_ns is None else spread_ns
        if eager_gpu_ns is None and benchmark.eager is not None:
            eager_gpu_ns = benchmark.eager.busy_ns
        if capture_ns is None:
            capture_ns = median_ns(benchmark.capture_ns)
        if instantiate_ns is None:
            instantiate_ns = median_ns(benchmark.instantiate_ns)
    if eager_ns is None or graph_ns is None:
        return Result.absent(_missing(subject))
    if eager_ns <= 0 or graph_ns <= 0:
        return Result.absent(
            f"the eager call took {eager_ns} ns and the replay {graph_ns} ns: expected times above "
            f"zero"
        )
    if capture_ns is None and subject.info is not None:
        capture_ns = subject.info.capture_duration_ns
    if instantiate_ns is None and subject.executable is not None:
        instantiate_ns = subject.executable.instantiate_duration_ns
    gain = eager_ns - graph_ns
    result = Result(columns=COLUMNS)
    listed: list[tuple[str, str, float | None]] = [
        ("eager", "eager call", eager_ns),
        ("graph", "replay of the graph", graph_ns),
        ("gain", "gained per call", gain),
        ("eager_gpu", "device busy in an eager call", eager_gpu_ns),
        ("capture", "capture", capture_ns),
        ("instantiate", "instantiate", instantiate_ns),
    ]
    for name, words, value in listed:
        if value is not None:
            result.figures[name] = Quantity(round(value), Unit.NS)
            row: tuple[Cell, ...] = (words, round(value))
            result.rows.append(row)
    result.figures["speedup"] = Quantity(eager_ns / graph_ns, Unit.RATIO)
    result.figures["gain_share"] = Quantity(gain / eager_ns, Unit.RATIO)
    verdict = _verdict(gain, eager_ns, spread_ns or 0)
    result.figures["verdict"] = Quantity(verdict, Unit.TEXT)
    result.summary = _SENTENCES[verdict]
    if verdict == "launch-bound":
        result.severity = Severity.NOTICE
    if benchmark is not None and compared is not None:
        result.notes.append(
            "What was not given is the median of the stored benchmark: an eager call until the "
            "device is done, and launch and replay of the graph after each other, which is at most "
            "what a replay takes."
        )
        add_conditions(result, benchmark.conditions)
    elif spread_ns is None:
        result.notes.append("The spread of the measurements was not given.")
    if eager_gpu_ns is not None:
        idle = max(0.0, 1 - eager_gpu_ns / eager_ns)
        result.figures["eager_idle_share"] = Quantity(idle, Unit.RATIO)
        result.notes.append("Run eagerly, the device is idle for {eager_idle_share} of the call.")
    _payback(result, gain, capture_ns, instantiate_ns, verdict)
    return result


def _missing(subject: Subject) -> str:
    """Say what a verdict needs, and why the benchmark does not have it."""
    benchmark = subject.benchmark
    reason = subject.lacks(EvidenceKind.BENCHMARKS)
    if not reason and benchmark is not None:
        if benchmark.eager is not None and benchmark.eager.call_ns:
            reason = "the benchmark holds no replays"
        else:
            why = benchmark.eager.reason if benchmark.eager is not None else ""
            reason = why or "only a function that was captured by us can be called eagerly"
    return (
        f"a verdict needs the time of the function run eagerly and as a graph, measured on the "
        f"same inputs: {reason.rstrip('.')}; where you have measured them, pass them to the "
        f"analysis as eager_ns and graph_ns"
    )


def _verdict(gain: float, eager_ns: float, spread_ns: float) -> str:
    if not differs(gain, spread_ns):
        return "no difference"
    if gain < 0:
        return "slower as a graph"
    return "launch-bound" if gain >= GAIN_THAT_MATTERS * eager_ns else "device-bound"


_SENTENCES = {
    "launch-bound": (
        "The function is launch-bound: as a graph it takes {graph} instead of {eager}, {speedup} "
        "times as fast."
    ),
    "device-bound": (
        "The device decides how long the function takes: as a graph it takes {graph} instead of "
        "{eager}, a gain of {gain_share}."
    ),
    "no difference": (
        "Eager ({eager}) and graph ({graph}) differ by no more than twice the measurements' spread."
    ),
    "slower as a graph": "As a graph the function takes {graph}, longer than {eager} eagerly.",
}


def _payback(
    result: Result,
    gain: float,
    capture_ns: float | None,
    instantiate_ns: float | None,
    verdict: str,
) -> None:
    if capture_ns is None or instantiate_ns is None:
        result.notes.append(
            "After how many replays the graph has paid for itself is not known: capture or "
            "instantiate was not timed."
        )
    elif gain > 0 and verdict != "no difference":
        replays = -int(-(capture_ns + instantiate_ns) // gain)
        result.figures["replays_to_pay"] = Quantity(replays, Unit.COUNT)
        result.notes.append(
            "After {replays_to_pay} replays it has paid for its capture and instantiate."
        )


def _time(name: str, description: str, default: float | None = None) -> Argument:
    return Argument(name, ArgumentKind.NUMBER, default, description, Unit.NS, minimum=0)


ANALYSIS = Analysis(
    name="launch_bound",
    title="Launch-bound",
    description="Whether this function would gain from a graph, and by how much.",
    run=run,
    uses=(EvidenceKind.BENCHMARKS,),
    arguments=(
        _time(
            "eager_ns",
            "median time of an eager call, from its start until the device is done; given, it "
            "replaces that of the graph's benchmark",
        ),
        _time("graph_ns", "median time of a replay, measured alike"),
        _time("spread_ns", "spread of the two, such as the larger interquartile range"),
        _time("eager_gpu_ns", "time in which the device is busy in an eager call"),
        _time("capture_ns", "time of the capture; the recording's own where it is left out"),
        _time("instantiate_ns", "time of instantiate; the executable's own where it is left out"),
    ),
)
