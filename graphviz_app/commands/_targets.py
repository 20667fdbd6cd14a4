"""Commands that take a workload or a recording: which one it is, and where its options end."""

from __future__ import annotations

from pathlib import Path

import click

SCRIPTS = (".py", ".pyc", ".pyw")


def is_recording(target: str) -> bool:
    """Say whether a target is something to read and not something to run.

    By what is in it, as `cglens view` does: a recording folder, or a file that a format
    recognises. A Python file and what is not there are workloads.
    """
    path = Path(target)
    try:
        if path.is_dir():
            from capture.recorder.folder import MANIFEST

            return (path / MANIFEST).is_file() and not (path / "__main__.py").is_file()
        if not path.is_file() or path.suffix in SCRIPTS:
            return False
    except (OSError, ValueError):
        return False
    from capture.errors import FormatError
    from capture.formats import recognise

    try:
        recognise(path)
    except FormatError:
        # A damaged recording is to be read, so that the reader says what is wrong with it.
        return path.suffix == ".cgl"
    return True


class TargetCommand(click.Command):
    """A command whose options end where the arguments of the workload begin.

    Options stand before TARGET. Those in `after_target` may also follow it directly, and after
    them any other of ours, until something else or ``--`` begins the workload's arguments. A
    recording has no arguments, so any option may follow it.
    """

    after_target: frozenset[str] = frozenset()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Sort options that follow the target from arguments of the workload."""
        ctx.allow_interspersed_args = False
        found, _, _ = self.make_parser(ctx).parse_args(list(args))
        target, words = found.get("target"), found.get("args")
        rest = list(words) if isinstance(words, (list, tuple)) else []
        if isinstance(target, str) and rest:
            if found.get("module") is not True and is_recording(target):
                ctx.allow_interspersed_args = True
                return super().parse_args(ctx, args)
            before = args[: len(args) - len(rest)]
            args = [*self._ours(rest), *before, *rest]
        return super().parse_args(ctx, args)

    def _ours(self, rest: list[str]) -> list[str]:
        """Take our options off the front of what follows the target."""
        flags = {
            name
            for option in self.params
            if getattr(option, "is_flag", False)
            for name in option.opts
        }
        known = {name for option in self.params for name in option.opts if name.startswith("-")}
        ours: list[str] = []
        while rest and rest[0].partition("=")[0] in (known if ours else self.after_target):
            name, equals, _ = rest[0].partition("=")
            ours.append(rest.pop(0))
            if not equals and name not in flags and rest:
                ours.append(rest.pop(0))
        if ours and rest[:1] == ["--"]:
            rest.pop(0)
        return ours
