"""Measure capture, launch and replay, eager against graph, or print what is stored of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import Command
from ._measuring import REFUSED, chosen, measured_run, reasons_without, workload_options
from ._targets import TargetCommand, is_recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from capture.model import GraphInfo, Recording

IN_FULL = 3
"""Up to this many graphs are printed in full; more as one table, unless they are asked for."""


@click.command(cls=TargetCommand)
@click.option(
    "--replays",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    metavar="N",
    help="Samples of each quantity.",
)
@click.option("--no-cold", is_flag=True, help="Leave out replays with a cold L2.")
@click.option(
    "--nodes", is_flag=True, help="Also measure every node alone, and replays without it."
)
@workload_options
@click.pass_context
def bench(
    ctx: click.Context,
    output: Path | None,
    force: bool,
    module: bool,
    replays: int,
    no_cold: bool,
    nodes: bool,
    keys: tuple[str, ...],
    unsaved: bool,
    as_json: bool,
    target: str,
    args: tuple[str, ...],
) -> None:
    """Record TARGET with ARGS and measure its graphs, or print what a recording holds.

    TARGET is what `cglens record` takes, or a recording (.cgl). After the workload has ended, each
    graph is instantiated, launched and replayed by us; memory that it writes is saved and restored.
    A function (MODULE:FUNCTION) is also called without a graph. Options stand before TARGET.
    The exit code is the workload's; 1 when nothing could be measured.
    """
    from capture.formats import read
    from capture.measure_request import MeasureRequest

    exit_code, where = 0, Path(target)
    if not module and is_recording(target):
        if args:
            raise click.UsageError(f"{target} is a recording, which takes no arguments: {args[0]}")
        recording: Recording | None = read(where)
    else:
        request = MeasureRequest(
            replays=replays,
            cold=not no_cold,
            nodes=nodes,
            graphs=list(keys),
            unsaved=unsaved,
            traced=False,
        )
        recording, where, exit_code = measured_run(
            request, "bench", output, force, module, target, args
        )
    if recording is None:
        ctx.exit(exit_code)
    infos = chosen(recording, keys)
    if as_json:
        click.echo(json.dumps(document(recording, infos), indent=2))
    else:
        show(recording, infos, bool(keys), where)
    measured = [recording.benchmark(info.key) for info in infos]
    anything = any(item is not None and not item.refused for item in measured)
    ctx.exit(exit_code or (0 if anything else REFUSED))


def document(recording: Recording, infos: Sequence[GraphInfo]) -> dict[str, Any]:
    """Return what is stored of graphs, with medians beside, as plain data."""
    from capture.codec import dump

    from .. import benchmark_facts

    graphs: list[dict[str, Any]] = []
    for info in infos:
        entry: dict[str, Any] = {"key": info.key, "name": info.name, "label": info.label}
        item = recording.benchmark(info.key)
        if item is None:
            graphs.append({**entry, "absent": benchmark_facts.absent_reason(info)})
            continue
        summary = {
            one.name: {
                "median_ns": one.median_ns,
                "p95_ns": one.p95_ns,
                "spread_ns": one.spread_ns,
                "count": one.count,
            }
            for one in benchmark_facts.distributions(item)
        }
        paid = benchmark_facts.payback(item).replays
        entry |= {"summary": summary, "replays_to_pay": paid, "benchmark": dump(item)}
        graphs.append(entry)
    return {"graphs": graphs}


def show(recording: Recording, infos: Sequence[GraphInfo], in_full: bool, where: Path) -> None:
    """Print the benchmarks of graphs: each in full when they are few or asked for."""
    from .. import benchmark_facts
    from ._benchmarks import show_benchmark, show_curve
    from ._console import make_console

    out = make_console()
    stored = set(recording.benchmarked)
    found = [
        (info, item)
        for info in infos
        if info.key in stored and (item := recording.benchmark(info.key)) is not None
    ]
    if len(found) > 1:
        show_curve(out, found)
    if len(found) <= IN_FULL or in_full:
        for info, item in found:
            out.print()
            show_benchmark(out, info, item)
    elif found:
        out.print(
            f"--graph KEY shows one in full: cglens bench {where} --graph KEY", soft_wrap=True
        )
    for line in reasons_without(infos, [info.key for info, _ in found]):
        out.print(line, soft_wrap=True)
    if not found:
        out.print(f"Measure them: {benchmark_facts.command(recording)}", soft_wrap=True)


COMMAND = Command(name="bench", command=bench)
