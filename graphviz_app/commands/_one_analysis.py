"""What `cglens info --analysis NAME` prints: one analysis, with its whole table."""

from __future__ import annotations

import click
import msgspec

from capture.analysis import Analysis, Result, Scope, analyses, run_analysis
from capture.errors import LookupFailed
from capture.formats import documents
from capture.model import Recording

from .. import result_text
from ..subjects import subject_of
from ._console import clean, make_console
from ._findings import results_table

FIRST_ROWS = 40


def analysis_command(
    recording: Recording, name: str, key: str | None, as_json: bool, show_all: bool
) -> None:
    """Run one analysis, and print what it finds.

    Parameters
    ----------
    recording : Recording
    name : str
        Of an analysis of a graph, or of a recording.
    key : str or None
        Of the graph; where there is only one, it need not be named.
    as_json, show_all : bool

    Raises
    ------
    LookupFailed
        There is no such analysis, or it is not said of which graph.
    """
    known = {key: entry for key, entry in analyses().items() if entry.scope is not Scope.PAIR}
    if name not in known:
        raise LookupFailed(f"no analysis {name!r}; there are {', '.join(sorted(known))}")
    result = _result(recording, known[name], key)
    if as_json:
        plain = msgspec.to_builtins(msgspec.structs.replace(result, node_values={}))
        content = documents.encode({name: plain}, sort=False)
        click.echo(msgspec.json.format(content, indent=2).decode())
        return
    console = make_console()
    console.print(clean(result.title or known[name].title), style="bold")
    console.print(clean(result_text.summary(result)), soft_wrap=True)
    if result.rows:
        results_table(console, result, None if show_all else FIRST_ROWS)
    for note in result.notes:
        console.print(clean(result_text.written(result, note)), soft_wrap=True)


def _result(recording: Recording, entry: Analysis, key: str | None) -> Result:
    if entry.scope is Scope.RECORDING:
        return run_analysis(entry.name, recording)
    if key is None:
        filled = [info.key for info in recording.graphs.values() if info.node_count]
        if len(filled) != 1:
            some = ", ".join(filled[:5]) or "none"
            raise LookupFailed(
                f"{entry.name} is about one graph, and {len(filled)} graphs have nodes: name one "
                f"with --graph KEY, such as {some}"
            )
        key = filled[0]
    return run_analysis(entry.name, subject_of(recording, key, recording.graph(key)))
