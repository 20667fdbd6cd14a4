"""Say what varies among many graphs of one recording, such as one per batch size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import Command
from ._options import ARGS, FORCE, MODULE, TARGET, output_option
from ._targets import SCRIPTS, TargetCommand, is_recording

if TYPE_CHECKING:
    from capture.model import Recording


@click.command(cls=TargetCommand)
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
@click.option(
    "--ask-driver",
    is_flag=True,
    help="TARGET is a workload: record it, then ask the driver which executable could be "
    "updated to which graph. Nothing is launched.",
)
@output_option(
    "Recording that --ask-driver writes; without it, one in this folder that is named after "
    "the workload."
)
@FORCE
@MODULE
@TARGET
@ARGS
@click.pass_context
def series(
    ctx: click.Context,
    form: str,
    rows: int,
    ask_driver: bool,
    output: Path | None,
    force: bool,
    module: bool,
    target: str,
    args: tuple[str, ...],
) -> None:
    """Compare all graphs of TARGET, a recording, with one another.

    Graphs are grouped by topology and ordered by the number in their labels. Of each group it is
    said which fields vary and how, and which graphs one executable could serve by updates. Graphs
    that were captured again at one place are compared with the one before.

    Which updates the driver would take is predicted from its documentation. With --ask-driver
    TARGET is recorded (what `cglens record` takes) and the driver asked as well.
    """
    if ask_driver and not is_recording(target):
        recording, exit_code = _recorded(output, force, module, target, args)
        if recording is None:
            ctx.exit(exit_code)
    else:
        if ask_driver:
            raise click.UsageError(
                f"{target} is a recording: the driver can be asked only in the process that "
                f"captured the graphs; name the script instead"
            )
        if args or output is not None or module:
            raise click.UsageError(
                f"{target} is read, not run: arguments, -o and -m belong to --ask-driver"
            )
        if target.endswith(SCRIPTS):
            raise click.UsageError(
                f"{target} is a workload, and this command reads recordings: name a recording of "
                f"it, or give --ask-driver to record it now"
            )
        from capture.formats import read

        recording, exit_code = read(Path(target)), 0
    click.echo(rendered(recording, form, Path(target).name, rows), nl=False)
    ctx.exit(exit_code)


def _recorded(
    output: Path | None, force: bool, module: bool, target: str, args: tuple[str, ...]
) -> tuple[Recording | None, int]:
    from capture.formats import read
    from capture.measure_request import MeasureRequest

    from ._recording import default_output, record_to

    request = MeasureRequest(bench=False, updates=True, traced=False)
    output = output or default_output(target).with_suffix(".series.cgl")
    path, exit_code, written = record_to(output, force, module, target, args, measure=request)
    return (read(path) if written else None), exit_code


def rendered(recording: Recording, form: str, title: str, rows: int) -> str:
    """Return what a recording's series and churn say, in one of the command's formats."""
    from capture.compare.churn import churn
    from capture.compare.series import series as compared

    found, again = compared(recording), churn(recording)
    if form == "json":
        import msgspec

        content = {**msgspec.to_builtins(found, enc_hook=str), "captured_again": again}
        encoded = msgspec.json.encode(content, enc_hook=str)
        return msgspec.json.format(encoded, indent=2).decode() + "\n"
    from .. import report_formats
    from ..comparing.series_report import churn_section, sections

    render = {
        "text": report_formats.as_text,
        "markdown": report_formats.as_markdown,
        "html": report_formats.as_html,
    }[form]
    listed = sections(found, rows or None)
    if again:
        listed.append(churn_section(again, rows or None))
    return render(title, listed)


COMMAND = Command(name="series", command=series)
