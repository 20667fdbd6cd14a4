"""Check a recording against a policy, and against a baseline, for continuous integration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from . import Command

CANNOT_TELL = 2


@click.command()
@click.argument("file", metavar="CAPTURE", type=click.Path(path_type=Path))
@click.option(
    "--baseline",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A recording to compare with: new and missing kernels, times.",
)
@click.option(
    "--policy",
    "policy_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A TOML file; without one, no capture may have failed, no finding may be a warning, and "
    "against a baseline kernel families must be the same and times at most 5 % longer.",
)
@click.option("--graph", "keys", multiple=True, metavar="KEY", help="Only this graph. Repeatable.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "junit", "github")),
    default="text",
    show_default=True,
    help="junit for test reports, github for annotations of a workflow.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file.")
@click.pass_context
def check(
    ctx: click.Context,
    file: Path,
    baseline: Path | None,
    policy_file: Path | None,
    keys: tuple[str, ...],
    form: str,
    output: Path | None,
) -> None:
    """Check CAPTURE (.cgl or any format that can be read) against a policy.

    The exit code is 0 when every rule holds, 1 when one is broken, and 2 when it cannot be told:
    a file cannot be read, times are missing, or a difference is within the noise.
    """
    from capture.compare.gate import EXIT_CODES, check_recording, verdict
    from capture.errors import GraphLensError
    from capture.formats import read
    from capture.policy import Policy, read_policy

    from ..check_formats import FORMATS

    try:
        policy = read_policy(policy_file) if policy_file is not None else Policy()
        recording = read(file)
        if keys:
            for key in keys:
                recording.info(key)
            policy = replace(policy, graphs=tuple(map(_literal, keys)))
        against = read(baseline) if baseline is not None else None
        checks = check_recording(recording, policy, against)
    except GraphLensError as error:
        click.echo(f"cglens check: {error}", err=True)
        ctx.exit(CANNOT_TELL)
    text = FORMATS[form](str(file), checks)
    if output is None:
        click.echo(text, nl=False)
    else:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            click.echo(f"cglens check: {output} cannot be written: {error}", err=True)
            ctx.exit(CANNOT_TELL)
    ctx.exit(EXIT_CODES[verdict(checks)])


def _literal(key: str) -> str:
    """Return a pattern that fits this key alone."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in key)


COMMAND = Command(name="check", command=check)
