"""Finding: a graph around one node, whose launch stands for one instead of many."""

from __future__ import annotations

from statistics import median

from ..model import EvidenceKind, Graph
from .base import Analysis, Cell, Column, Quantity, Result, Severity, Unit
from .subject import Subject

WORK = frozenset(("kernel", "memcpy", "memset", "host"))
COLUMNS = [
    Column("node", Unit.NODE),
    Column("name", Unit.TEXT),
    Column("confidence", Unit.TEXT),
]
WHY = (
    "A graph saves CPU time when one launch stands for many. Here it stands for one: what is saved "
    "is the framework's own work for that call at most (on an H200 a replay took the CPU 4.6 µs "
    "and one eager add 9.8 µs), and each graph has an executable of its own. Capture more of the "
    "work in one graph."
)
MEASURED = "Launching this graph took the CPU {launch}; one eager call took {eager}."


def lone_node(graph: Graph) -> str:
    """Return the path of the only node that does work, through child graphs; empty for several.

    A conditional's body may run many times: such a graph is not around one node.
    """
    path = ""
    while True:
        types = graph.topology.types
        working = [at for at, type_ in enumerate(types) if type_ in WORK]
        holding = sorted({body.node for body in graph.bodies})
        others = [
            at
            for at, type_ in enumerate(types)
            if type_ not in WORK and type_ not in ("empty", "child_graph") and at not in holding
        ]
        if others or len(working) + len(holding) != 1:
            return ""
        prefix = f"{path}/" if path else ""
        if working:
            return f"{prefix}{working[0]}"
        bodies = graph.bodies_of(holding[0])
        if len(bodies) != 1 or types[holding[0]] != "child_graph":
            return ""
        path = f"{prefix}{holding[0]}/{bodies[0].index}"
        graph = bodies[0].graph


def run(subject: Subject) -> Result:
    """Say whether the graph is a wrapper around one node. O(nodes)."""
    if subject.path:
        return Result.absent("only whole graphs are looked at, not bodies")
    graph = subject.graph
    result = Result(columns=COLUMNS, figures={"nodes": Quantity(len(graph), Unit.COUNT)})
    path = lone_node(graph) if len(graph) <= 4 else ""
    if not path:
        result.summary = "The graph does more than one node's work, or none: it has {nodes} nodes."
        return result
    position = int(path.partition("/")[0])
    row: tuple[Cell, ...] = (path, subject.label(position), "certain")
    result.rows.append(row)
    result.node_marks, result.mark_name = [position], "alone in its graph"
    result.severity = Severity.NOTICE
    result.summary = "The graph holds one node: one launch stands for one."
    result.notes.append(WHY)
    benchmark = subject.benchmark
    if benchmark is not None and benchmark.launch_cpu_ns:
        launch = round(median(benchmark.launch_cpu_ns))
        result.figures["launch"] = Quantity(launch, Unit.NS)
        if benchmark.eager is not None and benchmark.eager.cpu_ns:
            eager = round(median(benchmark.eager.cpu_ns))
            result.figures["eager"] = Quantity(eager, Unit.NS)
            result.notes.append(MEASURED)
    return result


ANALYSIS = Analysis(
    name="one_node_graphs",
    title="Graphs around one node",
    description="Whether the graph wraps a single node, so that it saves no launch.",
    run=run,
    uses=(EvidenceKind.BENCHMARKS,),
    finding=True,
)
