"""Say what varies among many graphs of one recording, such as one per batch size."""

from __future__ import annotations

from pathlib import Path

import click

from . import Command


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "markdown", "json", "html")),
    default="text",
    show_default=True,
)
@click.option(
    "--rows",
    type=click.IntRange(0),
    default=30,
    show_default=True,
    metavar="N",
    help="Rows of each table; 0 for all. JSON always has all.",
)
def series(file: Path, form: str, rows: int) -> None:
    """Compare all graphs of FILE with one another.

    Graphs are grouped by topology and ordered by the number in their labels. Of each group it is
    said which fields vary and how, and which graphs one executable could serve by updates.
    """
    from capture.compare.series import series as compared
    from capture.formats import read

    found = compared(read(file))
    if form == "json":
        import msgspec

        encoded = msgspec.json.encode(found, enc_hook=str)
        click.echo(msgspec.json.format(encoded, indent=2).decode())
        return
    from .. import report_formats
    from ..series_report import sections

    render = {
        "text": report_formats.as_text,
        "markdown": report_formats.as_markdown,
        "html": report_formats.as_html,
    }[form]
    click.echo(render(file.name, sections(found, rows or None)), nl=False)


COMMAND = Command(name="series", command=series)
