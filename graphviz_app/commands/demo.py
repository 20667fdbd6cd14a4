"""Open the recordings that ship with the product; needs no GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from capture.errors import LookupFailed

from . import Command
from ._serve import run_dashboard, server_options, source_option

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
FIRST = "transformer_inference"
"""What most people come with: a model's forward pass, timed, with layers that repeat."""


def shipped() -> list[Path]:
    """Return the shipped recordings by name, the one to look at first in front.

    Raises
    ------
    LookupFailed
        None came with this installation.
    """
    found = sorted(SAMPLES.glob("*.cgl"))
    if not found:
        raise LookupFailed(
            f"no recordings in {SAMPLES}: this installation came without samples; reinstall "
            f"cudagraph-lens, or open a file of your own with `cglens view FILE`"
        )
    return sorted(found, key=lambda path: path.stem != FIRST)


@click.command()
@server_options
@source_option
def demo(**options: Any) -> None:
    """Open the recordings that ship with the product, made on a real GPU."""
    run_dashboard(shipped(), **options)


COMMAND = Command(name="demo", command=demo)
