"""Open recordings in the dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from . import Command
from ._serve import run_dashboard, server_options, source_option


@click.command()
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@server_options
@source_option
def view(files: tuple[Path, ...], **options: Any) -> None:
    """Open one or more recordings in the dashboard.

    A FILE is a packed recording (.cgl), a recording folder, or any format that `cglens export`
    writes, the driver's own DOT included.
    """
    run_dashboard(list(files), **options)


COMMAND = Command(name="view", command=view)
