"""Subcommands of ``cglens``: one module each, with a ``COMMAND``.

To add one, write ``graphviz_app/commands/x.py`` with a docstring, whose first line is the summary
in ``cglens --help``, and ``COMMAND = Command(name="x", command=...)``. The module is imported
only when the command runs, and imports heavy packages inside its functions: a test loads each of
them and fails if dash, networkx or numpy came along. Other distributions add commands through the
entry-point group ``cudagraph_lens.commands``; there the entry point's name is the command's.
"""

from __future__ import annotations

from dataclasses import dataclass

import click

ENTRY_POINTS = "cudagraph_lens.commands"


@dataclass(frozen=True)
class Command:
    """One entry of the command extension point.

    Attributes
    ----------
    name : str
        What the user types; the module's name with ``-`` for ``_``.
    command : click.Command
    """

    name: str
    command: click.Command
