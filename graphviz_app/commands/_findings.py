"""What `cglens info` finds: timings, benchmark and analyses of a graph, analyses of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from capture.analysis import Result, Scope, analyses, run_analysis
from capture.errors import FormatError

from .. import result_text, timing_facts
from ..format import duration_text, share_text
from ..subjects import subject_of

if TYPE_CHECKING:
    from rich.console import Console

    from capture.analysis import Subject
    from capture.model import GraphInfo, Recording

LONGEST = 5


def findings(console: Console, recording: Recording, entry: GraphInfo) -> None:
    """Print when nodes ran and what every analysis of a graph finds; this opens the graph."""
    from ._console import facts

    subject = subject_of(recording, entry.key, recording.graph(entry.key))
    console.print()
    console.print("Timing", style="bold")
    if subject.timings is None or not subject.is_timed:
        _line(console, timing_facts.absent_text(subject))
    else:
        _line(console, timing_facts.caution(subject.timings, entry.node_count))
        facts(console, [(fact.label, fact.text) for fact in timing_facts.replay_facts(subject)])
        _longest(console, subject)
    if subject.benchmark is not None:
        from ._benchmarks import show_benchmark

        console.print()
        console.print("Benchmark", style="bold")
        show_benchmark(console, entry, subject.benchmark)
    console.print()
    console.print("Analyses", style="bold")
    present: list[tuple[str, str]] = []
    absent: dict[str, list[str]] = {}
    for name, analysis in analyses().items():
        if analysis.scope is not Scope.GRAPH:
            continue
        result = run_analysis(name, subject)
        if result.present:
            present.append((analysis.title, result_text.summary(result)))
        else:
            absent.setdefault(result_text.summary(result), []).append(analysis.title)
    facts(console, present)
    for reason, titles in absent.items():
        _line(console, f"absent: {', '.join(titles)}. {reason}")


def recording_findings(console: Console, recording: Recording, rows: int | None) -> None:
    """Print what every analysis of a whole recording finds, with its table.

    Parameters
    ----------
    console : Console
    recording : Recording
    rows : int or None
        Most rows of a table; ``None`` for all.
    """
    for name, analysis in analyses().items():
        if analysis.scope is not Scope.RECORDING:
            continue
        result = run_analysis(name, recording)
        if not result.present:
            continue
        console.print()
        console.print(analysis.title, style="bold")
        _line(console, result_text.summary(result))
        for note in result.notes:
            _line(console, result_text.written(result, note))
        if len(result.rows) > 1 or (result.rows and analysis.overview):
            results_table(console, result, rows)


def results_table(console: Console, result: Result, rows: int | None) -> None:
    """Print a result's table, without the columns in which nothing stands."""
    from rich import box
    from rich.table import Table

    from ._console import clean

    columns = list(result.columns)
    filled = [
        at for at in range(len(columns)) if any(row[at] not in (None, "") for row in result.rows)
    ]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for at in filled:
        words = isinstance(next(row[at] for row in result.rows if row[at] is not None), str)
        table.add_column(columns[at].name, justify="left" if words else "right", overflow="fold")
    for row in result.rows[:rows]:
        cells = (
            result_text.value_text(columns[at].name, row[at], columns[at].unit) for at in filled
        )
        table.add_row(*map(clean, cells))
    console.print(table)
    if rows is not None and len(result.rows) > rows:
        console.print(f"and {len(result.rows) - rows} more: --all shows them")


def benchmark_documents(recording: Recording, key: str | None) -> list[dict[str, Any]]:
    """Return the benchmarks of a graph, or of all, as documents; a damaged one says so."""
    from capture.codec import dump

    found: list[dict[str, Any]] = []
    for name in recording.benchmarked:
        if key in (None, name):
            try:
                found.append(dump(recording.evidence("benchmarks", name, keep=False)))
            except FormatError as error:
                found.append({"graph": name, "error": str(error)})
    return found


def analysis_documents(recording: Recording) -> dict[str, Any]:
    """Return what analyses of a whole recording find, as documents by name."""
    return {
        name: msgspec.to_builtins(run_analysis(name, recording))
        for name, analysis in analyses().items()
        if analysis.scope is Scope.RECORDING
    }


def graph_documents(recording: Recording, entry: GraphInfo) -> dict[str, Any]:
    """Return what analyses of a graph find, as documents by name; this opens the graph.

    Values per node are left out: an export has them.
    """
    subject = subject_of(recording, entry.key, recording.graph(entry.key))
    found = {}
    for name, analysis in analyses().items():
        if analysis.scope is Scope.GRAPH:
            result = msgspec.structs.replace(run_analysis(name, subject), node_values={})
            found[name] = msgspec.to_builtins(result)
    return found


def _line(console: Console, sentence: str) -> None:
    from ._console import clean

    console.print(clean(sentence), soft_wrap=True)


def _longest(console: Console, subject: Subject) -> None:
    """Print the nodes that take longest."""
    durations = subject.durations
    timed = [at for at, duration in enumerate(durations) if duration is not None]
    console.print(f"Longest {min(len(timed), LONGEST)} nodes", style="bold")
    for at in sorted(timed, key=lambda at: -(durations[at] or 0))[:LONGEST]:
        took = duration_text(durations[at])
        share = share_text(durations[at] or 0, subject.makespan_ns or 0)
        _line(console, f"{took:>8}  {share:>7}  node {at}  {subject.label(at)}")
