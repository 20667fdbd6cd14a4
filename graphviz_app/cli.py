"""The ``cglens`` command: finds subcommands without importing them, and maps errors to exits."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from capture.errors import ExtensionError, GraphLensError

from . import commands
from .commands import ENTRY_POINTS, Command

DISTRIBUTION = "cudagraph-lens"
INTERRUPTED = 130
"""Exit code of a process that the user interrupted: 128 plus SIGINT."""


def command_modules() -> dict[str, str]:
    """Return the module of each built-in command by the command's name; imports none of them."""
    return {
        info.name.replace("_", "-"): f"{commands.__name__}.{info.name}"
        for info in sorted(pkgutil.iter_modules(commands.__path__), key=lambda item: item.name)
        if not info.name.startswith("_")
    }


def summary(module: str) -> str:
    """Return the first docstring line of a module without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    try:
        source = Path(spec.origin).read_text(encoding="utf-8")
        text = ast.get_docstring(ast.parse(source)) or ""
    except (OSError, SyntaxError, ValueError):
        return ""
    return text.partition("\n")[0]


def foreign_commands() -> dict[str, Any]:
    """Return the entry points of other distributions by command name."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


class LazyGroup(click.Group):
    """A group that imports a subcommand only when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*command_modules(), *foreign_commands()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        module = command_modules().get(cmd_name)
        if module is not None:
            return _entry(importlib.import_module(module), module)
        point = foreign_commands().get(cmd_name)
        if point is None:
            return None
        try:
            loaded = point.load()
        except Exception as error:
            raise ExtensionError(
                f"command {cmd_name!r} of {point.value!r} does not load: {error}; "
                f"uninstall or repair the distribution that declares it"
            ) from error
        return _checked(loaded, point.value)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that was asked for; a file in its place gets a hint."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if args and Path(args[0]).exists():
                hint = f"{error.message} To open a file: cglens view {args[0]}"
                raise click.UsageError(hint, ctx) from None
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from their modules' docstrings."""
        rows = [(name, summary(module)) for name, module in command_modules().items()]
        rows += [(name, point.value) for name, point in foreign_commands().items()]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(sorted(rows))


def _entry(module: Any, where: str) -> click.Command:
    entry = getattr(module, "COMMAND", None)
    if entry is None:
        raise ExtensionError(f"{where} has no COMMAND: a command module needs one")
    return _checked(entry, where)


def _checked(entry: Any, where: str) -> click.Command:
    if not isinstance(entry, Command):
        raise ExtensionError(f"{where} is a {type(entry).__name__}, expected a Command")
    return entry.command


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    click.echo(f"cglens {version()}")
    ctx.exit()


def version() -> str:
    """Return the installed version, or ``"unknown"`` in a source tree that is not installed."""
    from importlib import metadata

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "unknown"


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version and exit.",
)
def cglens() -> None:
    """See, time, explain and compare CUDA graphs."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Expected failures are one line on stderr: 2 for wrong usage, otherwise the error's own code.
    A command that passes on a script's exit code calls ``ctx.exit(code)``.
    """
    try:
        result = cglens.main(
            args=None if args is None else list(args), prog_name="cglens", standalone_mode=False
        )
    except click.ClickException as error:
        if isinstance(error, click.UsageError):
            error.show()
        else:
            _complain(error.format_message())
        return error.exit_code
    except click.Abort:
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except GraphLensError as error:
        _complain(str(error))
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output went away (`| head`).
        _drop_output()
        return 1
    except OSError as error:
        what = error.strerror or str(error)
        _complain(
            f"{what}: {error.filename}; check the path, its permissions and the room on its disk"
            if error.filename
            else f"{what} while reading or writing; check the room where the output goes"
        )
        _drop_output()
        return 1
    return result if isinstance(result, int) else 0


def _drop_output() -> None:
    """Let go of what is still to be written: writing it would raise again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str) -> None:
    click.echo(f"cglens: {' '.join(message.split())}", err=True)
