"""Run a script, module or function and record every CUDA graph it captures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import Command
from ._options import ARGS, FORCE, MODULE, RECORDING, TARGET, Decorated, Option, with_options
from ._recording import record_to

if TYPE_CHECKING:
    from capture.measure_request import MeasureRequest


def recording_options(function: Decorated) -> Decorated:
    """Add what `record` and `run` take."""
    return with_options(function, _OPTIONS)


_OPTIONS: list[Option] = [
    RECORDING,
    FORCE,
    click.option(
        "--timings",
        type=click.IntRange(0, 1000),
        metavar="N",
        help="Trace the first N replays of each graph with CUPTI for node timings; 0 for none. "
        "[default: 20]",
    ),
    click.option(
        "--origins/--no-origins",
        default=True,
        help="Note the source line, module and operator of every node. [default: origins]",
    ),
    click.option(
        "--store-sources",
        is_flag=True,
        help="Put the text of your source files into the recording, for whoever opens it.",
    ),
    click.option(
        "--memory",
        "memory",
        flag_value="1",
        help="Look at torch's memory before and after each capture, and at the end.",
    ),
    click.option(
        "--memory-stacks",
        "memory",
        flag_value="stacks",
        help="As --memory, and switch torch's memory history on: who allocated each block.",
    ),
    click.option(
        "--writes",
        is_flag=True,
        help="After the script, run each graph node by node and note what memory every node "
        "changes; what they write is saved and restored. Implies --memory.",
    ),
    MODULE,
    TARGET,
    ARGS,
]


def recorder_variables(
    origins: bool, store_sources: bool, memory: str | None = None
) -> dict[str, str]:
    """Return the environment variables that tell the recorder what to note beside graphs.

    What was not asked for is left as the environment has it.
    """
    from capture.recorder.launch import MEMORY, ORIGINS, SOURCES

    found = {} if origins else {ORIGINS: "0"}
    if memory:
        found[MEMORY] = memory
    return {**found, SOURCES: "1"} if store_sources else found


def writes_request(writes: bool) -> MeasureRequest | None:
    """Return the request to measure what nodes write, if that is wanted."""
    from capture.measure_request import MeasureRequest

    return MeasureRequest(bench=False, writes=True) if writes else None


@click.command(context_settings={"allow_interspersed_args": False})
@recording_options
@click.pass_context
def record(
    ctx: click.Context,
    output: Path | None,
    force: bool,
    timings: int | None,
    origins: bool,
    store_sources: bool,
    memory: str | None,
    writes: bool,
    module: bool,
    target: str,
    args: tuple[str, ...],
) -> None:
    """Run TARGET with ARGS and record every CUDA graph that it captures.

    TARGET is a script, a module (with -m), or MODULE:FUNCTION (or FILE.py:FUNCTION): a function
    without arguments that is warmed up, captured and replayed. A script that captures no graph
    and defines workload() has that captured. The exit code is the workload's.
    """
    variables = recorder_variables(origins, store_sources, memory or ("1" if writes else None))
    request = writes_request(writes)
    _, exit_code, _ = record_to(
        output, force, module, target, args, timings, measure=request, variables=variables
    )
    ctx.exit(exit_code)


COMMAND = Command(name="record", command=record)
