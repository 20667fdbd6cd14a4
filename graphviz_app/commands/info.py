"""Sum up a recording: what was recorded, on what, its graphs and what it cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import Command
from ._console import clean, facts, make_console
from ._failures import failure_lines, place_text, show_failures

if TYPE_CHECKING:
    from rich.console import Console

    from capture.model import GraphInfo, Recording

FIRST_GRAPHS = 20


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print everything known as JSON.")
@click.option("--graph", "key", metavar="KEY", help="Only this graph, in full.")
@click.option("--all", "show_all", is_flag=True, help=f"All graphs, not the first {FIRST_GRAPHS}.")
@click.option("--findings", "only_findings", is_flag=True, help="Faults of all graphs, by kind.")
@click.option(
    "--analysis",
    metavar="NAME",
    help="Only this analysis, with its table, such as by_module, by_operator, by_source or pools.",
)
def info(
    file: Path,
    as_json: bool,
    key: str | None,
    show_all: bool,
    only_findings: bool,
    analysis: str | None,
) -> None:
    """Sum up FILE: a recording (.cgl), a recording folder, or any format that can be read."""
    from capture.formats import read

    recording = read(file)
    if key is not None:
        recording.info(key)
    if only_findings:
        from ._all_findings import findings_command

        findings_command(recording, key, as_json, show_all)
        return
    if analysis is not None:
        from ._one_analysis import analysis_command

        analysis_command(recording, analysis, key, as_json, show_all)
        return
    if as_json:
        click.echo(document(recording, key), nl=False)
        return
    console = make_console()
    if key is not None:
        _show_graph(console, recording, recording.info(key))
    else:
        _show(console, file, recording, show_all)


def document(recording: Recording, key: str | None = None) -> str:
    """Return what is known as indented JSON; only graphs that analyses compare are opened.

    Benchmarks of the graphs are in it, and what analyses find: of the recording, or of the graph.
    """
    import msgspec

    from capture.codec import dump
    from capture.formats import documents

    from ._findings import analysis_documents, benchmark_documents, graph_documents

    infos = [i for i in recording.graphs.values() if key in (None, i.key)]
    failed = [i for i in recording.failed.values() if key in (None, i.key)]
    content = {
        "metadata": dump(recording.metadata),
        "processes": [dump(process) for process in recording.processes],
        "graphs": [dump(item) for item in infos],
        "failed": [dump(item) for item in failed],
        "executables": [dump(item) for item in recording.executables if key in (None, item.graph)],
        "benchmarks": benchmark_documents(recording, key),
    }
    if key is None:
        content["analyses"] = analysis_documents(recording)
    elif key in recording.graphs and recording.graphs[key].node_count:
        content["analyses"] = graph_documents(recording, recording.graphs[key])
    return msgspec.json.format(documents.encode(content, sort=False), indent=2).decode() + "\n"


def _show(console: Console, file: Path, recording: Recording, show_all: bool) -> None:
    console.print(clean(recording.metadata.title or file.name), style="bold", soft_wrap=True)
    facts(console, [*_about(recording), *_machines(recording), *_costs(recording)])
    infos = list(recording.graphs.values())
    if infos:
        console.print()
        _table(console, recording, infos if show_all else infos[:FIRST_GRAPHS])
        if len(infos) > FIRST_GRAPHS and not show_all:
            left = len(infos) - FIRST_GRAPHS
            console.print(f"and {left} more: --all shows them, --graph KEY one in full")
    if recording.graphs or recording.stored("snapshots"):
        from ._findings import recording_findings

        recording_findings(console, recording, None if show_all else FIRST_GRAPHS)
    show_failures(console, recording)
    console.print()
    facts(console, [(f"{name}:", text) for name, text in _evidence(infos)])
    warnings = dict.fromkeys(
        [*recording.metadata.warnings, *(w for item in infos for w in item.warnings)]
    )
    for warning in list(warnings)[:FIRST_GRAPHS]:
        console.print(f"warning: {clean(warning)}", soft_wrap=True)
    if len(warnings) > FIRST_GRAPHS:
        console.print(f"and {len(warnings) - FIRST_GRAPHS} more warnings: --json has them")


def _about(recording: Recording) -> list[tuple[str, str]]:
    from graphviz_app.format import command_text, counted, duration_text, moment_text

    data = recording.metadata
    infos = recording.graphs.values()
    nodes, edges = sum(i.node_count for i in infos), sum(i.edge_count for i in infos)
    graphs = [
        counted(len(recording.graphs), "graph"),
        counted(nodes, "node"),
        counted(edges, "edge"),
    ]
    if recording.failed:
        graphs.append(counted(len(recording.failed), "failed capture"))
    took = duration_text(data.duration_ns) if data.duration_ns is not None else ""
    ended = "" if data.exit_code in (None, 0) else f"exit code {data.exit_code}"
    incomplete = "" if data.complete else "incomplete"
    return [
        ("holds", ", ".join(graphs)),
        ("command", command_text(data.command)),
        ("started", "" if data.started_unix_ns is None else moment_text(data.started_unix_ns)),
        ("took", ", ".join(text for text in (took, ended, incomplete) if text)),
        ("source", data.source if data.source != "recorded" else ""),
    ]


def _machines(recording: Recording) -> list[tuple[str, str]]:
    gpus = {gpu.name: None for process in recording.processes for gpu in process.gpus}
    versions = {
        f"{name} {version}": None
        for process in recording.processes
        for name, version in process.versions.items()
    }
    lost = sum(1 for process in recording.processes if process.ended == "lost")
    return [
        ("on", ", ".join(gpus)),
        ("with", ", ".join(versions)),
        ("lost", f"{lost} of {len(recording.processes)} processes ended without notice")
        if lost
        else ("lost", ""),
    ]


def _costs(recording: Recording) -> list[tuple[str, str]]:
    from graphviz_app.fields import label_text
    from graphviz_app.format import duration_text

    costs: dict[str, int] = {}
    for process in recording.processes:
        for name, cost_ns in process.costs_ns.items():
            costs[name] = costs.get(name, 0) + cost_ns
    text = ", ".join(f"{label_text(name)} {duration_text(ns)}" for name, ns in costs.items())
    return [("recording added", text)]


def _table(console: Console, recording: Recording, infos: list[GraphInfo]) -> None:
    from rich import box
    from rich.table import Table

    from graphviz_app.format import ABSENT, count_text, type_text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("key", overflow="fold")
    for name in ("nodes", "edges", "bodies", "width", "depth", "replays"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("types", overflow="fold")
    replays: dict[str, int] = {}
    for item in recording.executables:
        replays[item.graph] = replays.get(item.graph, 0) + item.replays
    for entry in infos:
        types = sorted(entry.type_counts.items(), key=lambda pair: -pair[1])
        table.add_row(
            clean(entry.key),
            count_text(entry.node_count),
            count_text(entry.edge_count),
            count_text(entry.body_count),
            count_text(entry.width),
            count_text(entry.depth),
            count_text(replays[entry.key]) if entry.key in replays else ABSENT,
            clean(", ".join(f"{count_text(count)} {type_text(name)}" for name, count in types)),
        )
    console.print(table)


def _evidence(infos: list[GraphInfo]) -> list[tuple[str, str]]:
    kinds: dict[str, list[Any]] = {}
    for entry in infos:
        for name, evidence in entry.evidence.items():
            kinds.setdefault(str(name), []).append(evidence)
    rows: list[tuple[str, str]] = []
    for name, found in kinds.items():
        present = [item for item in found if item.present]
        how = next((item.how for item in present if item.how), "")
        reasons = list(dict.fromkeys(item.reason for item in found if not item.present))
        parts = []
        if present:
            some = "" if len(present) == len(infos) else f" for {len(present)} of {len(infos)}"
            parts.append(f"present{some}" + (f" ({how})" if how else ""))
        if reasons:
            more = f" (and {len(reasons) - 1} other reasons)" if len(reasons) > 1 else ""
            parts.append(f"absent: {reasons[0] or 'no reason given'}{more}")
        rows.append((name.replace("_", " "), "; ".join(parts)))
    return rows


def _show_graph(console: Console, recording: Recording, entry: GraphInfo) -> None:
    from graphviz_app.fields import show

    console.print(clean(entry.name or entry.key), style="bold", soft_wrap=True)
    apart = ("name", "evidence", "warnings", "failure", "place", "extra")
    fields = [
        show(name, getattr(entry, name))
        for name in entry.__struct_fields__
        if name not in apart and getattr(entry, name) not in (None, "", {}, [])
    ]
    about = [(field.label, field.text) for field in fields]
    about += [("captured at", place_text(entry.place)), *failure_lines(entry)]
    about += [(f"evidence {name}", text) for name, text in _evidence([entry])]
    for item in recording.executables_of(entry.key):
        ended = f", {item.ended}" if item.ended else ""
        about.append(("executable", f"{item.id}: {item.replays} replays{ended}"))
    facts(console, about)
    for warning in entry.warnings:
        console.print(f"warning: {clean(warning)}", soft_wrap=True)
    if entry.key in recording.graphs and entry.node_count:
        from ._findings import findings

        findings(console, recording, entry)


COMMAND = Command(name="info", command=info)
