"""Write a recording, or one of its graphs, in another format."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from . import Command
from ._options import FORCE

STDOUT = "-"


class FormatName(click.ParamType[str]):
    """A format that can be written; they are found when a value or the help is needed."""

    name = "format"

    def choices(self) -> list[str]:
        """Return the names of formats that can be written."""
        from capture.formats import formats

        return [entry.name for entry in formats().values() if entry.write is not None]

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Show the names in the help."""
        return f"[{'|'.join(self.choices())}]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse what is none of the names."""
        choices = self.choices()
        if value not in choices:
            self.fail(f"{value!r} is none of {', '.join(choices)}", param, ctx)
        return value


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--format", "name", type=FormatName(), required=True, help="What to write.")
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    help="File to write, or - for standard output; "
    "without it, FILE's name with the format's extension.",
)
@click.option("--graph", "key", metavar="KEY", help="Only this graph; `cglens info` lists keys.")
@FORCE
def export(file: Path, name: str, output: str | None, key: str | None, force: bool) -> None:
    """Write FILE in another format."""
    from capture.files import check_output
    from capture.formats import format_named, read, write, write_stream

    if output == STDOUT:
        write_stream(read(file), sys.stdout.buffer, name, key)
        return
    extension = format_named(name).extensions[0]
    target = Path(output) if output else file.with_name(file.stem + extension)
    check_output(target, force)
    write(read(file), target, name, force, key)
    click.echo(f"cglens: wrote {target}", err=True)


COMMAND = Command(name="export", command=export)
