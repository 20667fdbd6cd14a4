"""What `cglens info --findings` prints: the faults of all graphs, by kind."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from capture.formats import documents
from capture.model import Recording

from ..findings import Findings, Kind, by_sentence
from ..format import count_text, counted
from ..result_text import written

if TYPE_CHECKING:
    from rich.console import Console

FIRST = 5
"""Findings of a kind that are printed."""


def findings_command(recording: Recording, key: str | None, as_json: bool, show_all: bool) -> None:
    """Look at every graph, or at one, and print what was found.

    Parameters
    ----------
    recording : Recording
    key : str or None
        Only findings about this graph.
    as_json, show_all : bool
    """
    found = look(recording, key)
    if as_json:
        content = documents.encode(found.document(), sort=False)
        click.echo(msgspec.json.format(content, indent=2).decode())
        return
    from ._console import clean, make_console

    console = make_console()
    where = found.recording.info(key).name if key else counted(found.looked, "graph")
    if not found.kinds:
        console.print(clean(f"Nothing was found in {where}."), soft_wrap=True)
    for kind in found.ranked():
        _kind(console, found, kind, show_all)
    _absent(console, found)


def look(recording: Recording, key: str | None) -> Findings:
    """Look for findings, with a line of progress on a terminal."""
    found = Findings(recording, key or "")
    shown = sys.stderr.isatty() and found.total > 1
    for _ in found.steps():
        if shown:
            click.echo(f"\rlooked at {found.looked} of {found.total} graphs", err=True, nl=False)
    if shown:
        click.echo("\r\033[K", err=True, nl=False)
    return found


def _kind(console: Console, found: Findings, kind: Kind, show_all: bool) -> None:
    from ._console import clean

    rows = [item for item in found.ordered() if item.analysis == kind.name]
    many = counted(kind.count, "finding")
    graphs = f" in {counted(len(kind.graphs), 'graph')}" if kind.graphs else ""
    sure = f", {count_text(kind.certain)} certain" if kind.certain else ""
    console.print(f"{kind.severity}: {kind.title}", style="bold")
    console.print(f"{many}{graphs}{sure}")
    for item in rows if show_all else rows[:FIRST]:
        at = f"node {item.node} of {item.graph}" if item.node else item.graph or "the recording"
        sure = f" [{item.confidence}]" if item.confidence else ""
        console.print(clean(f"  {at}: {found.words(item)}{sure}"), soft_wrap=True)
    left = kind.count - (len(rows) if show_all else min(len(rows), FIRST))
    if left:
        console.print(f"  and {count_text(left)} more" + ("" if show_all else ": --all shows them"))
    notes = dict.fromkeys(
        written(result, note) for item in rows for result in [found.result(item)]
        for note in result.notes
    )  # fmt: skip
    for note in list(notes)[:FIRST]:
        console.print(clean(note), soft_wrap=True)
    console.print()


def _absent(console: Console, found: Findings) -> None:
    """Print what was not looked for, and what limits that nothing was found."""
    from ._console import clean

    for what, told in (("not looked for", found.absent), ("to be read with", found.limits)):
        for sentence, names, graphs in by_sentence(told):
            of = f" ({counted(graphs, 'graph')})" if graphs > 1 else ""
            console.print(clean(f"{what}: {', '.join(names)}{of}: {sentence}"), soft_wrap=True)
