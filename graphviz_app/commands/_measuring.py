"""What `bench` and `whatif` share: their options, the measured run, and its exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ._options import ARGS, FORCE, JSON, MODULE, RECORDING, TARGET, Decorated, Option, with_options
from ._recording import default_output, record_to

if TYPE_CHECKING:
    from capture.measure_request import MeasureRequest
    from capture.model import GraphInfo, Recording

REFUSED = 1
"""Exit code when nothing that was asked for could be measured, and the workload ended well."""


def workload_options(function: Decorated) -> Decorated:
    """Add what every command takes that records a workload or reads a recording."""
    return with_options(function, _OPTIONS)


_OPTIONS: list[Option] = [
    RECORDING,
    FORCE,
    MODULE,
    click.option(
        "--graph",
        "keys",
        multiple=True,
        metavar="KEY",
        help="Only this graph; repeat for several. `cglens info` lists keys.",
    ),
    click.option(
        "--unsaved",
        is_flag=True,
        help="Replay also where not all memory that a graph may write can be saved and restored.",
    ),
    JSON,
    TARGET,
    ARGS,
]


def measured_run(
    request: MeasureRequest,
    word: str,
    output: Path | None,
    force: bool,
    module: bool,
    target: str,
    args: Sequence[str],
) -> tuple[Recording | None, Path, int]:
    """Record a workload and measure it afterwards.

    Parameters
    ----------
    request : MeasureRequest
    word : str
        Stands in the name of the file that is written when none is named.

    Returns
    -------
    recording : Recording or None
        ``None`` when nothing was written.
    path : Path
    exit_code : int
        Of the workload.

    Raises
    ------
    GraphLensError
        Nothing could be or was recorded, and the workload itself did not fail.
    """
    from capture.formats import read

    output = output or default_output(target).with_suffix(f".{word}.cgl")
    path, exit_code, written = record_to(output, force, module, target, args, measure=request)
    return (read(path) if written else None), path, exit_code


def chosen(recording: Recording, keys: Sequence[str]) -> list[GraphInfo]:
    """Return the graphs that were asked for, all without keys.

    Raises
    ------
    LookupFailed
        There is no such graph.
    """
    if not keys:
        return list(recording.graphs.values())
    return [recording.info(key) for key in dict.fromkeys(keys)]


def reasons_without(infos: Sequence[GraphInfo], measured: Sequence[str]) -> list[str]:
    """Return why graphs have no benchmark, each reason once with the number of graphs."""
    from .. import benchmark_facts

    absent = {
        info.key: [benchmark_facts.absent_reason(info)]
        for info in infos
        if info.key not in measured
    }
    return grouped(absent)


def grouped(said: Mapping[str, Sequence[str]]) -> list[str]:
    """Return sentences about graphs, each once with the number of graphs that it is about."""
    keys: dict[str, list[str]] = {}
    for key, sentences in said.items():
        for sentence in sentences:
            keys.setdefault(f"{sentence.rstrip('.')}.", []).append(key)
    return [
        f"{about[0]}{f' and {len(about) - 1} more' if len(about) > 1 else ''}: {sentence}"
        for sentence, about in keys.items()
    ]
