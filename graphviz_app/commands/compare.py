"""Say what differs between two recordings, node by node, and whether an update would be taken."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import Command
from ._serve import run_dashboard, server_options, source_option

if TYPE_CHECKING:
    from capture.compare import RecordingDiff

    from ..store import Store

FORMATS = ("text", "markdown", "json", "html")


@click.command()
@click.argument("before", metavar="BEFORE", type=click.Path(path_type=Path))
@click.argument("after", metavar="AFTER", type=click.Path(path_type=Path))
@click.option("--graph", "key", metavar="KEY", default="", help="Only this graph of BEFORE.")
@click.option(
    "--graph-after",
    "key_after",
    metavar="KEY",
    default="",
    help="Compare it with this graph of AFTER, whatever it would be paired with.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Print instead of opening the dashboard. Markdown is for a pull request, HTML is one page "
    "that needs nothing else.",
)
@click.option(
    "--rows",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    metavar="N",
    help="Rows of each table; 0 for all. JSON always has all.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file.")
@server_options
@source_option
def compare(
    before: Path,
    after: Path,
    key: str,
    key_after: str,
    form: str | None,
    rows: int,
    output: Path | None,
    **options: Any,
) -> None:
    """Compare BEFORE with AFTER: recordings (.cgl) or any format that can be read.

    Opens the dashboard at the comparison; with --format, or -o, it prints or writes it instead.
    Graphs are paired by key, then by topology and label. Both may be one file: then --graph and
    --graph-after say which two of its graphs are meant. Differences in addresses alone, as between
    two runs of one script, are none.
    """
    from capture.compare import compare_recordings
    from capture.errors import OutputError
    from capture.formats import read

    if form is None and output is None:
        open_comparison(before, after, key, key_after, options)
        return
    one = read(before)
    other = one if before == after else read(after)
    diff = compare_recordings(one, other, key, key_after)
    title = f"{before.name} \N{RIGHTWARDS ARROW} {after.name}"
    text = rendered(diff, form or "text", title, rows or None)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{output} cannot be written: {error}; choose another file") from error


def open_comparison(
    before: Path, after: Path, key: str, key_after: str, options: dict[str, Any]
) -> None:
    """Serve the dashboard at a comparison until interrupted.

    Raises
    ------
    LookupFailed
        There is no such graph.
    """
    from ..state import ViewState

    def start(store: Store) -> ViewState:
        ids = list(store.opened)
        one, other = ids[0], ids[-1]
        if key:
            store.info(one, key)
        if key_after:
            store.info(other, key_after)
        return ViewState(
            page="compare", recording=one, graph=key, after=other, graph_after=key_after
        )

    files = [before] if before.resolve() == after.resolve() and key_after else [before, after]
    run_dashboard(files, start=start, **options)


def rendered(diff: RecordingDiff, form: str, title: str, rows: int | None) -> str:
    """Return a comparison in one of :data:`FORMATS`."""
    if form == "json":
        import msgspec

        encoded = msgspec.json.encode(diff.document(), enc_hook=str)
        return msgspec.json.format(encoded, indent=2).decode() + "\n"
    from .. import report_formats
    from ..comparing.report import sections

    render = {
        "text": report_formats.as_text,
        "markdown": report_formats.as_markdown,
        "html": report_formats.as_html,
    }[form]
    return render(title, sections(diff, rows))


COMMAND = Command(name="compare", command=compare)
