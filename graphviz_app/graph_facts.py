"""What is known about a graph, without opening it, and about a recording, as facts."""

from __future__ import annotations

from typing import Any

from capture.model import EvidenceKind, Failure, GraphInfo, Recording
from capture.noticed import FIELD, LATER

from . import failure_facts
from . import format as text
from .facts import (
    FROM_DRIVER,
    FROM_RECORDER,
    Fact,
    Section,
    absence,
    extra_section,
    place_text,
    source_of,
)
from .fields import label_text, show

NO_RUN = (
    "This file says nothing about the run it came from: no command, no device, no versions. "
    "`cglens record` keeps them."
)


def graph_sections(info: GraphInfo, recording: Recording) -> list[Section]:
    """Return what is known about a graph without opening it."""
    shape = [
        Fact("nodes", text.count_text(info.node_count), "", "counted, bodies included"),
        Fact("edges", text.count_text(info.edge_count), "", "counted, bodies included"),
        Fact("bodies", text.count_text(info.body_count), "", "child graphs and conditional bodies"),
        Fact("width", text.count_text(info.width), "", "most nodes on one longest-path level"),
        Fact("depth", text.count_text(info.depth), "", "levels on the longest path"),
    ]
    types = [
        Fact(text.type_text(name), text.count_text(count), "", "counted, bodies included")
        for name, count in sorted(info.type_counts.items(), key=lambda item: -item[1])
    ]
    sections = [Section("Shape", shape)]
    if info.failure is not None:
        sections.insert(0, failure_section(info.failure, info))
    if types:
        sections.append(Section("Node types", types))
    captured = _capture_facts(info)
    if captured:
        sections.append(Section("Capture", captured))
    else:
        why = absence(info.evidence, EvidenceKind.CAPTURE, "Not observed")
        sections.append(Section("Capture", absent=why))
    sections += _executable_sections(info, recording)
    sections += _evidence_section(info)
    if info.warnings:
        sections.append(Section("Warnings", [Fact("", warning) for warning in info.warnings]))
    # Findings say what was noticed.
    shown = {name: item for name, item in info.extra.items() if name not in (FIELD, LATER)}
    return sections + extra_section(shown)


def failure_section(failure: Failure, info: GraphInfo) -> Section:
    """Return why a capture failed, in short."""
    where = place_text(failure_facts.where(failure, info))
    facts = [
        Fact("kind", failure_facts.title(failure), failure.because, failure.because),
        Fact("at", where, where, failure.found_by, mono=True, copy=where),
        Fact(
            "error",
            failure_facts.error_text(failure),
            failure_facts.cut(failure.message),
            "as the script saw it",
        ),
    ]
    return Section("Failure", facts)


def _capture_facts(info: GraphInfo) -> list[Fact]:
    how = source_of(info, EvidenceKind.CAPTURE, "observed while it was captured")
    facts = []
    if info.place is not None:
        where = place_text(info.place)
        facts.append(Fact("where", where, where, how, mono=True, copy=where))
    for name in ("label", "how", "thread", "device", "stream", "capture_mode"):
        value = getattr(info, name)
        if value not in (None, ""):
            shown = str(value) if name in ("label", "thread") else str(value).replace("_", " ")
            facts.append(Fact(label_text(name), shown, "", how))
    if info.pool is not None:
        facts.append(Fact("pool", f"({info.pool[0]}, {info.pool[1]})", "", how))
    for name in ("capture_duration_ns", "read_duration_ns"):
        value = getattr(info, name)
        if value is not None:
            facts.append(Fact.of(show(name, value), FROM_RECORDER))
    if facts and info.key:
        facts.append(Fact("key", info.key, info.key, "stable from run to run", True, info.key))
    return facts if info.place is not None or info.capture_duration_ns is not None else []


def _executable_sections(info: GraphInfo, recording: Recording) -> list[Section]:
    sections = []
    for executable in recording.executables_of(info.key)[:20]:
        facts = [Fact("replays", text.count_text(executable.replays), "", FROM_RECORDER)]
        for name in ("instantiate_duration_ns", "uploads", "updates"):
            value = getattr(executable, name)
            if value:
                facts.append(Fact.of(show(name, value), FROM_RECORDER))
        for name in ("ended", "note"):
            value = getattr(executable, name)
            if value:
                facts.append(Fact(name, value, "", FROM_RECORDER))
        sections.append(Section(f"Executable {executable.id}", facts))
        sections += extra_section(executable.extra)
    return sections


def _evidence_section(info: GraphInfo) -> list[Section]:
    facts = []
    for name, entry in info.evidence.items():
        if entry.present:
            cost = "" if entry.cost_ns is None else f", cost {text.duration_text(entry.cost_ns)}"
            facts.append(Fact(label_text(name), f"{entry.how or 'present'}{cost}"))
        else:
            facts.append(Fact(label_text(name), f"absent: {entry.reason or 'no reason given'}"))
    return [Section("Evidence", facts)] if facts else []


def recording_sections(recording: Recording) -> list[Section]:
    """Return what is known about the run: processes, devices, versions, cost."""
    sections = []
    for process in recording.processes:
        facts = [Fact("pid", str(process.pid), "", "from the operating system")] * bool(process.pid)
        if process.argv:
            command = text.command_text(process.argv)
            facts.append(Fact("command", command, command, "as it was started", True, command))
        if process.ended:
            facts.append(Fact("ended", process.ended, "", "from its journal"))
        for name, version in process.versions.items():
            facts.append(Fact(name, version, "", "asked in the process"))
        sections.append(Section(f"Process {process.pid}" if process.pid else "Process", facts))
        sections += [_gpu_section(gpu) for gpu in process.gpus]
        if process.costs_ns:
            costs = [
                Fact.of(show(f"{name.replace('_', ' ')}_ns", cost), FROM_RECORDER)
                for name, cost in process.costs_ns.items()
            ]
            sections.append(Section("Cost of recording", costs))
        if process.warnings:
            sections.append(Section("Warnings", [Fact("", item) for item in process.warnings]))
        sections += extra_section(process.extra)
    sections += extra_section({**recording.metadata.extra, **recording.extra})
    if not sections:
        sections.append(Section("Run", absent=NO_RUN))
    return sections


def _gpu_section(gpu: Any) -> Section:
    facts = []
    for name in gpu.__struct_fields__:
        value = getattr(gpu, name)
        if name in ("name", "index", "extra") or value is None:
            continue
        if name == "compute_capability":
            facts.append(Fact("compute capability", f"{value[0]}.{value[1]}", "", FROM_DRIVER))
        else:
            facts.append(Fact.of(show(name, value), FROM_DRIVER))
    facts += [Fact.of(show(name, value), FROM_DRIVER) for name, value in gpu.extra.items()]
    return Section(f"GPU {gpu.index}: {gpu.name}", facts)
