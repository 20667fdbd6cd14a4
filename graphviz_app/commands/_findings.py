"""What `cglens info --graph` prints of one graph in full: its timings, and what analyses find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.analysis import Scope, analyses, run_analysis

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
    from .info import facts

    subject = subject_of(recording, entry.key, recording.graph(entry.key))
    console.print()
    console.print("Timing", style="bold")
    if subject.timings is None or not subject.is_timed:
        _line(console, timing_facts.absent_text(subject))
    else:
        _line(console, timing_facts.caution(subject.timings, entry.node_count))
        facts(console, [(fact.label, fact.text) for fact in timing_facts.replay_facts(subject)])
        _longest(console, subject)
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


def _line(console: Console, sentence: str) -> None:
    from .info import clean

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
