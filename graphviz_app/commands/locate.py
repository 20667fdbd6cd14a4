"""Find the first node with which a graph's replay faults, hangs, or leaves NaN or other values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import Command
from ._options import ARGS, FORCE, JSON, MODULE, TARGET, output_option
from ._recording import complain
from ._targets import TargetCommand, is_recording

if TYPE_CHECKING:
    from capture.located import Located
    from capture.model import Recording

    from ..locate_facts import Culprit

NOT_FOUND = 1


@click.command(cls=TargetCommand)
@output_option("Recording to write, with the result in it; without it none is kept.")
@FORCE
@MODULE
@click.option(
    "--graph",
    "key",
    metavar="KEY",
    default="",
    help="Only this graph; without it, the first that goes wrong. `cglens info` lists keys.",
)
@click.option(
    "--symptom",
    type=click.Choice(["fault", "hang", "nan", "inf", "eager"]),
    help="What to look for. [default: a fault or a hang, whichever comes]",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0.1, 3600),
    default=20.0,
    show_default=True,
    metavar="S",
    help="Seconds after which a replay, or a node, is taken to hang.",
)
@click.option(
    "--eager",
    "function",
    metavar="FUNCTION",
    default="",
    help="With --symptom eager and a script: its function, without arguments, that does without "
    "a graph what the graph does.",
)
@JSON
@TARGET
@ARGS
@click.pass_context
def locate(
    ctx: click.Context,
    output: Path | None,
    force: bool,
    module: bool,
    key: str,
    symptom: str | None,
    timeout_s: float,
    function: str,
    as_json: bool,
    target: str,
    args: tuple[str, ...],
) -> None:
    """Run TARGET with ARGS again and again and find the first guilty node of a graph.

    TARGET is what `cglens record` takes. The first run says which replay goes wrong; every further
    one runs a part of a clone of that graph in place of that replay, in a process that may break
    or hang and is then ended. Options stand before TARGET.
    The exit code is 0 when a node was found, 1 when none was.
    """
    from capture.errors import WorkloadError
    from capture.recorder.locate_steps import Wanted
    from capture.recorder.locating import command_of
    from capture.recorder.locating import locate as run

    if not module and is_recording(target):
        raise click.UsageError(
            f"{target} is a recording; a replay has to be run to see where it goes wrong: name "
            f"the script, or MODULE:FUNCTION"
        )
    command, typed = command_of(target, args, module)
    if function and symptom != "eager":
        raise click.UsageError("--eager FUNCTION is for --symptom eager")
    if symptom == "eager" and not function and command[2:3] != ["function"]:
        raise WorkloadError(
            f"{target} is a script, and what its graph should compute is not known: name the "
            f"function that computes it without a graph, as in `cglens locate --symptom eager "
            f"{target}:FUNCTION`, or with --eager FUNCTION if the script captures the graph itself"
        )
    wanted = Wanted(
        command=command,
        typed=typed,
        output=output,
        force=force,
        graph=key,
        symptom=symptom or "",
        timeout_s=timeout_s,
        function=function,
    )
    located, recording = run(wanted, complain)
    from ..locate_facts import culprit

    found = culprit(recording, located) if recording is not None else None
    if as_json:
        click.echo(json.dumps(document(located, found), indent=2))
    else:
        show(located, found, recording, output)
    ctx.exit(0 if located.node else NOT_FOUND)


def document(located: Located, found: Culprit | None) -> dict[str, Any]:
    """Return a result as plain data."""
    from dataclasses import asdict

    import msgspec

    names = located.__struct_fields__
    result: dict[str, Any] = {name: msgspec.to_builtins(getattr(located, name)) for name in names}
    result["culprit"] = asdict(found) if found is not None else None
    return result


def show(
    located: Located, found: Culprit | None, recording: Recording | None, output: Path | None
) -> None:
    """Print a result."""
    from capture.recorder.locate_steps import WORDS

    from ._console import clean, make_console

    out = make_console()

    def say(text: str, style: str | None = None) -> None:
        out.print(clean(text), style=style, soft_wrap=True)

    if located.graph:
        say(
            f"Replay {located.replay + 1} of {located.graph} {WORDS[located.symptom]}: "
            f"{located.detail}"
        )
    if found is None:
        say(f"No node was found: {located.reason.removeprefix('no node was found: ')}", "bold")
    else:
        sure = "" if located.decided else " (not sure, see below)"
        say(f"First guilty node{sure}: node {found.node}, {found.name}", "bold")
        for name, text in found.origin.items():
            say(f"  {name}: {text}")
        for text in found.arguments:
            say(f"  {text}")
        for text in (*_values(located), *found.notes):
            say(f"  {text}")
        for text in found.findings:
            say(f"  finding: {text}")
    say(f"{len(located.runs)} runs:")
    for number, run in enumerate(located.runs, start=1):
        detail = f": {run.detail}" if run.detail else ""
        say(f"  {number}. {run.part}, {run.wall_ms / 1000:.1f} s: {run.what}{detail}")
    for note in located.notes:
        say(f"Note: {note}")
    if output is not None:
        say(f"Kept with the graph in {output}.")


def _values(located: Located) -> list[str]:
    """Return what was seen of values, one sentence each."""
    found = located.found
    said = [f"what it gave: {text}" for text in found.get("outputs", ())]
    said += [str(text) for text in found.get("moved", ())]
    if found.get("first_inf"):
        said.append(f"before that, the first Inf: {found['first_inf']}")
    return said


COMMAND = Command(name="locate", command=locate)
