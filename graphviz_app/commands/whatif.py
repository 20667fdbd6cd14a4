"""Measure and predict what would be gained if some nodes took no time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import Command
from ._measuring import (
    REFUSED,
    chosen,
    grouped,
    measured_run,
    reasons_without,
    workload_options,
)
from ._targets import TargetCommand, is_recording

if TYPE_CHECKING:
    from capture.model import GraphInfo, Recording

    from ..gain_facts import Gain


class WhatIfCommand(TargetCommand):
    """As people say it: what if, of this workload, these nodes were free."""

    after_target = frozenset({"--free", "--each"})


@click.command(cls=WhatIfCommand)
@click.option(
    "--free",
    "selections",
    multiple=True,
    metavar="SELECTION",
    help="Nodes that take no time, together: node:3,5, type:memset, family:NAME, name:TEXT, "
    "branch:3, all. Repeat for another selection.",
)
@click.option(
    "--each", is_flag=True, help="Every node above 1 % of the makespan, one after another."
)
@click.option(
    "--replays",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    metavar="N",
    help="Replays with and without the nodes.",
)
@workload_options
@click.pass_context
def whatif(
    ctx: click.Context,
    selections: tuple[str, ...],
    each: bool,
    replays: int,
    output: Path | None,
    force: bool,
    module: bool,
    keys: tuple[str, ...],
    unsaved: bool,
    as_json: bool,
    target: str,
    args: tuple[str, ...],
) -> None:
    """Record TARGET with ARGS and replay its graphs without some nodes, or ask a recording.

    TARGET is what `cglens record` takes, or a recording (.cgl): of that the gain that its timings
    and edges predict is printed, with what is stored of measurements. The nodes are taken out of a
    clone of the graph, after the workload has ended; the others wait as before. --free and
    --each may also follow TARGET, and more options after them; the workload's arguments come
    last, behind -- where they look like ours. The exit code is the
    workload's; 1 when nothing could be measured or predicted.
    """
    from capture.formats import read
    from capture.measure_request import EACH, MeasureRequest

    exit_code, stored = 0, not module and is_recording(target)
    if stored:
        if args:
            raise click.UsageError(f"{target} is a recording, which takes no arguments: {args[0]}")
        recording: Recording | None = read(Path(target))
    else:
        if not selections and not each:
            raise click.UsageError(
                "say which nodes are to take no time: --free SELECTION, or --each"
            )
        asked = [*selections, *([EACH] if each else [])]
        request = MeasureRequest(
            bench=False,
            replays=replays,
            removals=[(key, selection) for selection in asked for key in (keys or ("",))],
            graphs=list(keys),
            unsaved=unsaved,
        )
        recording, _, exit_code = measured_run(
            request, "whatif", output, force, module, target, args
        )
    if recording is None:
        ctx.exit(exit_code)
    infos = chosen(recording, keys)
    found, problems = gains_of(recording, infos, selections, each)
    if as_json:
        click.echo(json.dumps(document(found, problems), indent=2))
    else:
        show(recording, infos, found, problems, selections, each, stored)
    anything = any(
        gain.measured_ns is not None or (stored and gain.predicted_ns is not None)
        for gains in found.values()
        for gain in gains
    )
    ctx.exit(exit_code or (0 if anything else REFUSED))


def gains_of(
    recording: Recording, infos: Sequence[GraphInfo], selections: Sequence[str], each: bool
) -> tuple[dict[str, list[Gain]], dict[str, list[str]]]:
    """Return measured and predicted gains by graph, and why selections have none.

    Stored measurements are all shown; selections that were not measured are predicted.
    """
    from capture.errors import GraphLensError

    found: dict[str, list[Gain]] = {}
    problems: dict[str, list[str]] = {}
    for info in infos:
        try:
            found[info.key], said = _of_graph(recording, info, selections, each)
        except GraphLensError as error:
            said = [str(error)]
        recording.forget(info.key)
        if said:
            problems[info.key] = said
    return found, problems


def _of_graph(
    recording: Recording, info: GraphInfo, selections: Sequence[str], each: bool
) -> tuple[list[Gain], list[str]]:
    from capture.analysis import run_analysis
    from capture.errors import GraphLensError
    from capture.model import EvidenceKind
    from capture.selection import select

    from ..gain_facts import Gain, gains, predicted, ranked
    from ..subjects import subject_of

    benchmark = recording.benchmark(info.key)
    subject = subject_of(recording, info.key, recording.graph(info.key))
    alone = run_analysis("what_if", subject, rows=0) if subject.is_timed else None
    stored = gains(benchmark, subject, alone) if benchmark is not None else []
    said = []
    if benchmark is not None and benchmark.refused:
        said.append(f"not replayed: {benchmark.refused}")
    known = {gain.asked for gain in stored}
    fresh: list[Gain] = []
    if alone is None and (each or any(item not in known for item in selections)):
        said.append(f"nothing is predicted: {subject.lacks(EvidenceKind.TIMINGS)}")
        return stored, said
    for selection in selections:
        if selection in known:
            continue
        try:
            nodes = select(subject.graph, selection)
        except GraphLensError as error:
            said.append(str(error))
            continue
        name = subject.label(nodes[0]) if len(nodes) == 1 else ""
        fresh.append(Gain(selection, len(nodes), predicted(subject, nodes, alone), name=name))
    if each and alone is not None:
        least = (subject.makespan_ns or 0) / 100
        fresh += [
            Gain(f"node:{node}", 1, round(value), name=subject.label(node))
            for node, value in alone.node_values.items()
            if value > 0 and (subject.durations[node] or 0) > least and f"node:{node}" not in known
        ]
    if not selections and not each and not stored:
        said.append("nothing was measured here; --free SELECTION or --each predicts a gain")
    return [*stored, *ranked(fresh)], said


def document(found: dict[str, list[Gain]], problems: dict[str, list[str]]) -> dict[str, Any]:
    """Return gains as plain data."""
    keys = list(dict.fromkeys([*found, *problems]))
    return {
        "graphs": [
            {
                "key": key,
                "gains": [asdict(gain) | {"error": gain.error} for gain in found.get(key, [])],
                "problems": problems.get(key, []),
            }
            for key in keys
        ]
    }


def show(
    recording: Recording,
    infos: Sequence[GraphInfo],
    found: dict[str, list[Gain]],
    problems: dict[str, list[str]],
    selections: Sequence[str],
    each: bool,
    stored: bool,
) -> None:
    """Print gains graph by graph, how to read them, and the command that measures."""
    from .. import benchmark_facts
    from ._benchmarks import show_gains
    from ._console import clean, make_console

    out = make_console()
    for info in infos:
        gains = found.get(info.key, [])
        if gains:
            out.print(clean(info.name or info.key), style="bold", soft_wrap=True)
            show_gains(out, gains)
    for line in grouped(problems):
        out.print(clean(line), soft_wrap=True)
    every = [gain for gains in found.values() for gain in gains]
    if any(gain.predicted_ns is not None for gain in every):
        out.print(PREDICTED, soft_wrap=True)
    if any(gain.measured_ns is not None for gain in every):
        out.print(MEASURED, soft_wrap=True)
    if not stored:
        for line in reasons_without(infos, recording.benchmarked):
            out.print(clean(line), soft_wrap=True)
    elif not any(gain.measured_ns is not None for gain in every):
        asked = selections or (() if each else ("SELECTION",))
        free = [word for item in asked for word in ("--free", item)]
        free += ["--each"] if each else []
        typed = benchmark_facts.command(recording, "cglens whatif", free)
        out.print(f"Measure it: {clean(typed)}", soft_wrap=True)


PREDICTED = (
    "Predicted: what the longest path shrinks by, from durations under tracing, edges and a gap "
    "from each node to the next; nodes that run at the same time slow each other down, so the gain "
    "may be larger."
)
MEASURED = (
    "Measured: median replay with all nodes less median replay without these, \N{PLUS-MINUS SIGN} "
    "the larger interquartile range; error: predicted against measured."
)

COMMAND = Command(name="whatif", command=whatif)
