"""Benchmarks and what-if results in the terminal: tables that stay plain when they are piped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import benchmark_facts, disturbances, gain_facts, node_costs
from ..distributions import Distribution, median_of
from ..format import ABSENT, bytes_text, count_text, duration_text, share_text
from ._console import clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from capture.benchmarks import Benchmark
    from capture.model import GraphInfo

    from ..gain_facts import Gain

SHOWN_NODES = 20


def show_benchmark(out: Console, info: GraphInfo, benchmark: Benchmark) -> None:
    """Print all that a benchmark of one graph says."""
    out.print(clean(info.name or info.key), style="bold", soft_wrap=True)
    if benchmark.refused:
        _say(out, [f"Not replayed: {benchmark.refused.rstrip('.')}."])
    found = benchmark_facts.distributions(benchmark)
    eager = benchmark.eager
    if benchmark.removals and not found and eager is None and benchmark.nodes is None:
        _say(out, ["Only replays without some nodes were measured: `cglens whatif` prints them."])
        return
    if eager is not None:
        found += benchmark_facts.eager_distributions(eager)
    if found:
        out.print(_distributions(found))
    if benchmark.executable_bytes:
        _say(out, [f"The executable takes {bytes_text(benchmark.executable_bytes)} of the device."])
    if not benchmark.refused:
        _split(out, benchmark)
        _say(out, benchmark_facts.comparison_sentences(benchmark))
        _say(out, [benchmark_facts.payback(benchmark).sentence])
        _say(out, disturbances.disturbances(benchmark.conditions))
    _say(out, benchmark_facts.notes(benchmark))
    if benchmark.nodes is not None:
        _node_costs(out, benchmark)


def _say(out: Console, sentences: Sequence[str]) -> None:
    for sentence in sentences:
        out.print(clean(sentence), soft_wrap=True)


def _table(*columns: str, texts: Sequence[str] = ()) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        text = name in texts
        table.add_column(
            name, justify="left" if text else "right", overflow="fold", no_wrap=not text
        )
    return table


def _distributions(found: Sequence[Distribution]) -> Table:
    table = _table("time", "of", "median", "p95", "spread", "n", texts=("time", "of"))
    for item in found:
        table.add_row(
            item.name,
            item.clock,
            duration_text(item.median_ns),
            duration_text(item.p95_ns),
            duration_text(item.spread_ns),
            count_text(item.count),
        )
    return table


def _split(out: Console, benchmark: Benchmark) -> None:
    found = benchmark_facts.compare(benchmark)
    if found is None or not found.split_ns or not found.eager_cpu_ns:
        return
    table = _table(
        "CPU time of an eager call", "time", "share", texts=("CPU time of an eager call",)
    )
    for name, value in found.split_ns.items():
        table.add_row(name, duration_text(value), share_text(value, found.eager_cpu_ns))
    if found.launch_cpu_ns is not None:
        share = share_text(found.launch_cpu_ns, found.eager_cpu_ns)
        table.add_row("launch of a replay", duration_text(found.launch_cpu_ns), share)
    out.print(table)


def _node_costs(out: Console, benchmark: Benchmark) -> None:
    nodes = benchmark.nodes
    assert nodes is not None
    rows = [(path, *node_costs.node_cost(nodes, place)) for place, path in enumerate(nodes.node)]
    rows.sort(key=lambda row: -max(row[2] or 0, row[1] or 0))
    if rows:
        table = _table("node", "isolated", "marginal")
        for path, isolated, marginal in rows[:SHOWN_NODES]:
            table.add_row(clean(path), duration_text(isolated), duration_text(marginal))
        out.print(table)
        if len(rows) > SHOWN_NODES:
            _say(out, [f"and {len(rows) - SHOWN_NODES} more nodes: --json has them"])
        _say(out, [node_costs.node_costs_text(nodes)])
    reasons = node_costs.node_reasons(nodes)
    _say(out, [f"{count} without a value: {reason}" for reason, count in reasons])


def show_curve(out: Console, found: Sequence[tuple[GraphInfo, Benchmark]]) -> None:
    """Print one row a graph: medians."""
    table = _table(
        "key", "label", "nodes", "capture", "instantiate", "launch", "warm", "cold", "eager",
        "paid after", texts=("key", "label"),
    )  # fmt: skip
    for info, item in found:
        eager = median_of(item.eager.call_ns) if item.eager is not None else None
        paid = benchmark_facts.payback(item).replays
        table.add_row(
            clean(info.key),
            clean(info.label),
            count_text(info.node_count),
            *(
                duration_text(median_of(values))
                for values in (
                    item.capture_ns,
                    item.instantiate_ns,
                    item.launch_cpu_ns,
                    item.replay_ns,
                    item.cold_replay_ns,
                )
            ),
            duration_text(eager),
            count_text(paid) if paid is not None else ABSENT,
        )
    out.print(table)
    for info, item in found:
        if item.refused:
            _say(out, [f"{info.key} was not replayed: {item.refused.rstrip('.')}."])


def show_gains(out: Console, gains: Sequence[Gain]) -> None:
    """Print what making nodes free gains: measured beside predicted."""
    if not gains:
        return
    table = _table(
        "free", "nodes", "predicted", "measured", "of the replay", "error", "n", texts=("free",)
    )
    for gain in gains:
        table.add_row(
            clean(f"{gain.asked}  {gain.name}".rstrip()),
            count_text(gain.nodes),
            duration_text(gain.predicted_ns),
            gain_facts.gain_text(gain),
            ABSENT if gain.share is None else share_text(gain.share, 1),
            gain_facts.error_text(gain),
            count_text(gain.samples) if gain.samples else ABSENT,
        )
    out.print(table)
    for gain in gains:
        if gain.reason:
            _say(out, [f"{gain.asked} was not measured: {gain.reason.rstrip('.')}."])
        if gain.left:
            _say(out, [f"{gain.asked}: {gain_facts.left_text(gain)}."])
