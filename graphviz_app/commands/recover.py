"""Make a recording of what an interrupted `cglens record` left."""

from __future__ import annotations

from pathlib import Path

import click

from capture.errors import OutputError

from . import Command
from ._options import FORCE, output_option
from ._recording import complain, describe, notable


@click.command()
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@output_option("File to write; without it, the one that the recording was for.")
@FORCE
def recover(folder: Path, output: Path | None, force: bool) -> None:
    """Make a recording of FOLDER, which `cglens record` works in, and remove the folder."""
    from capture.recorder import folder as folders
    from capture.recorder.pack import pack

    pid = folders.still_recording(folder)
    if pid is not None:
        raise OutputError(
            f"{folder} is still being recorded by process {pid}: wait for it or stop it"
        )
    if output is None:
        output = folder.with_name(folder.name.removesuffix(".recording"))
        if output == folder:
            output = folder.with_name(f"{folder.name}.cgl")
    recording = pack(folder, output, force, keep_empty=True)
    click.echo(f"cglens: {describe(recording, output)}", err=True)
    for text in notable(recording):
        complain(text)


COMMAND = Command(name="recover", command=recover)
