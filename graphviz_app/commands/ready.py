"""Say what would break the capture of a CUDA graph, on any machine, without a GPU."""

from __future__ import annotations

import json
import linecache
import os
from typing import Any

import click

from capture.failures import kind_of
from capture.recorder.readiness import COULD_NOT_TELL, DONE, STOPPED, Readiness, Spot, Trouble

from ..format import counted
from . import Command
from ._options import ARGS, JSON, MODULE, TARGET

WIDTH = 96


@click.command(context_settings={"allow_interspersed_args": False})
@JSON
@click.option(
    "--limit",
    "limit_s",
    type=click.IntRange(1, 86_400),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Stop the workload after so long, and report what was found until then.",
)
@MODULE
@TARGET
@ARGS
@click.pass_context
def ready(
    ctx: click.Context,
    as_json: bool,
    limit_s: int,
    module: bool,
    target: str,
    args: tuple[str, ...],
) -> None:
    """Run TARGET with ARGS on fake tensors and list what would break a capture.

    TARGET is as for `cglens record`. Nothing is computed and no GPU is used: tensors have shapes
    and no data, and `torch.cuda` is a stand-in. What runs inside `torch.cuda.graph` is checked, or
    the function itself. Exit code 0 when nothing was found, 1 when something was, 2 when the
    workload could not be run to its end this way.
    """
    from capture.recorder.ready_launch import check

    found = check(target, args, module, limit_s)
    if as_json:
        click.echo(json.dumps(as_document(found), indent=2))
    else:
        for line in lines(found):
            click.echo(line)
    ctx.exit(found.exit_code)


def as_document(found: Readiness) -> dict[str, Any]:
    """Return the result for programs: the child's document with titles and the exit code."""
    import msgspec

    document: dict[str, Any] = msgspec.to_builtins(found)
    document["exit_code"] = found.exit_code
    for trouble in document["found"]:
        kind = kind_of(trouble["kind"])
        trouble["title"] = kind.title
        trouble["documentation"] = kind.documentation
    return document


def lines(found: Readiness) -> list[str]:
    """Return the report as text."""
    text: list[str] = []
    for number, trouble in enumerate(found.found, start=1):
        text += [*_trouble(number, trouble, found), ""]
    text += [*_summary(found), ""]
    text.append("What this run cannot know:")
    text += [f"  - {sentence}" for sentence in found.limits]
    if found.guesses:
        made_up = counted(found.guesses, "value or shape was", "values and shapes were")
        text.append(f"  - {made_up} made up on the way, since there is no data.")
    return text


def _trouble(number: int, trouble: Trouble, found: Readiness) -> list[str]:
    kind = kind_of(trouble.kind)
    where = _place(trouble.stack[0]) if trouble.stack else "no line of yours is on the stack"
    times = f", {trouble.times} times" if trouble.times > 1 else ""
    text = [f"{number}. {kind.title}: {where}{times}"]
    if trouble.stack and (source := _source(trouble.stack[0])):
        text.append(f"     {source}")
    calls = (
        trouble.call
        if trouble.operator in ("", trouble.call)
        else (f"{trouble.call} ({trouble.operator})")
    )
    if trouble.backward:
        calls += f", in the backward pass ({trouble.backward})"
    text.append(f"   {calls}: {trouble.why}.")
    if found.regions[trouble.region].compiled:
        text.append("   The compiler leaves it out of its graphs, which splits them here.")
    text.append(f"   Instead: {trouble.instead}.")
    if len(trouble.stack) > 1:
        text.append(f"   Called from {', '.join(_place(spot) for spot in trouble.stack[1:4])}.")
    if trouble.guessed:
        text.append("   The run went on with a made-up result: what follows depends on it.")
    text.append(f"   {kind.documentation}")
    return text


def _summary(found: Readiness) -> list[str]:
    text = []
    regions = counted(len(found.regions), "place that is captured", "places that are captured")
    if found.found:
        things = counted(len(found.found), "thing")
        text.append(f"{things} would break a capture, in {regions}.")
    elif found.ended == DONE and found.regions:
        text.append(f"Nothing was found that would break a capture, in {regions}.")
    for region in found.regions:
        where = f" at {_place(region.spot)}" if region.spot is not None else ""
        passes = counted(region.times, "pass", "passes")
        operators = counted(region.operators, "operator")
        text.append(f"  checked: {region.name}{where}, {passes}, {operators} on the GPU")
    if not found.regions and found.ended == DONE:
        text.append(
            "Nothing was checked: the workload captured no graph. Name a function "
            "(MODULE:FUNCTION), or define workload() in the script."
        )
    if found.ended == STOPPED:
        text.append("The workload was stopped before its end; the rest was not checked.")
    elif found.failure is not None:
        failure = found.failure
        at = f" at {_place(failure.stack[0])}" if failure.stack else ""
        text.append(f"The workload did not get to its end on fake tensors{at}:")
        text.append(f"  {failure.error}: {failure.message.partition(chr(10))[0][:300]}")
        if found.exit_code == COULD_NOT_TELL:
            text.append("Whether it can be captured could not be told.")
    return text


def _place(spot: Spot) -> str:
    file = os.path.relpath(spot.file) if os.path.isabs(spot.file) else spot.file
    if file.startswith(".." + os.sep + ".."):
        file = spot.file
    inside = f" in {spot.function}" if spot.function not in ("", "<module>") else ""
    return f"{file}:{spot.line}{inside}"


def _source(spot: Spot) -> str:
    return linecache.getline(spot.file, spot.line).strip()[:WIDTH]


COMMAND = Command(name="ready", command=ready)
