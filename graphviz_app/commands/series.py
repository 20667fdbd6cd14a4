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
    said which fields vary and how, and which graphs one executable could serve by updates. Graphs
    that were captured again at one place are compared with the one before.
    """
    from capture.compare.churn import churn
    from capture.compare.series import series as compared
    from capture.formats import read

    recording = read(file)
    found, again = compared(recording), churn(recording)
    if form == "json":
        import msgspec

        content = {**msgspec.to_builtins(found, enc_hook=str), "captured_again": again}
        encoded = msgspec.json.encode(content, enc_hook=str)
        click.echo(msgspec.json.format(encoded, indent=2).decode())
        return
    from .. import report_formats
    from ..series_report import churn_section, sections

    render = {
        "text": report_formats.as_text,
        "markdown": report_formats.as_markdown,
        "html": report_formats.as_html,
    }[form]
    listed = sections(found, rows or None)
    if again:
        listed.append(churn_section(again, rows or None))
    click.echo(render(file.name, listed), nl=False)


COMMAND = Command(name="series", command=series)
