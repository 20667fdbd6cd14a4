"""Options and arguments that several commands take, each with the same words in their help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Option = Callable[[Any], Any]

MODULE = click.option("-m", "module", is_flag=True, help="TARGET is a module, as for `python -m`.")
TARGET = click.argument("target")
ARGS = click.argument("args", nargs=-1, type=click.UNPROCESSED)
FORCE = click.option("--force", is_flag=True, help="Replace a file that is there.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def output_option(text: str) -> Option:
    """Return the option that names the recording to write."""
    return click.option(
        "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help=text
    )


RECORDING = output_option(
    "Recording to write; without it, one in this folder that is named after the workload."
)


def with_options(function: Decorated, options: Sequence[Option]) -> Decorated:
    """Add options and arguments to a command, in the order in which its help lists them."""
    for option in reversed(options):
        function = option(function)
    return function
