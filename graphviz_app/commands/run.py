"""Record a script, module or function, then open the dashboard on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from . import Command
from ._recording import complain, default_output, record_to
from ._serve import run_dashboard, server_options
from .record import recorder_variables, recording_options


@click.command(context_settings={"allow_interspersed_args": False})
@server_options
@click.option("--bench", is_flag=True, help="Also measure it, as `cglens bench` does.")
@click.option(
    "--free",
    "selections",
    multiple=True,
    metavar="SELECTION",
    help="Also measure the gain of making nodes free, as `cglens whatif` does. Repeat for several.",
)
@recording_options
@click.pass_context
def run(
    ctx: click.Context,
    /,
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
    bench: bool,
    selections: tuple[str, ...],
    **options: Any,
) -> None:
    """Run TARGET with ARGS, record its CUDA graphs, and open the dashboard on them.

    TARGET and ARGS are those of `cglens record`; the recording stays in FILE. The dashboard opens
    when the workload has ended, also when it failed and something was recorded.
    """
    complain(f"recording {target} into {output or default_output(target)}")
    request = None
    if bench or selections or writes:
        from capture.measure_request import MeasureRequest

        removals = [("", item) for item in selections]
        request = MeasureRequest(bench=bench, removals=removals, writes=writes)
    path, exit_code, written = record_to(
        output,
        force,
        module,
        target,
        args,
        timings,
        request,
        recorder_variables(origins, store_sources, memory or ("1" if writes else None)),
    )
    if written:
        from ..measuring import Workload

        workload = Workload(target, tuple(args), module)
        folders = workload_folders(target)
        run_dashboard([path], recorded_in=folders, workload=workload, **options)
    ctx.exit(exit_code)


def workload_folders(target: str) -> list[Path]:
    """Return the folders whose sources a workload has of its own: where it ran, and its script's.

    Examples
    --------
    >>> [str(folder) for folder in workload_folders("bench/train.py")][1:]
    ['bench']
    """
    file = target.partition(":")[0]
    return [Path.cwd(), *([Path(file).parent] if file.endswith(".py") else [])]


COMMAND = Command(name="run", command=run)
