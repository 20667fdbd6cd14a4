"""What is known about a node, as facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from capture.model import EvidenceKind, GraphInfo, Kernel, Node, Recording
from capture.nodes import node_type
from capture.nodes.kernel import KernelPayload
from capture.nodes.memcpy import MemcpyEnd

from . import format as text
from .facts import FROM_DRIVER, Fact, Section, absence, extra_section, source_of
from .fields import label_text, show
from .parameters import parameter_section


def node_sections(node: Node, info: GraphInfo, recording: Recording) -> list[Section]:
    """Return everything known about a node besides its edges and bodies."""
    source = source_of(info, EvidenceKind.PARAMETERS, FROM_DRIVER)
    payload = node.payload
    sections: list[Section] = []
    if isinstance(payload, KernelPayload):
        sections += kernel_sections(payload, info, recording, source)
    elif isinstance(payload, msgspec.Struct):
        sections += payload_sections(payload, source)
    elif isinstance(payload, Mapping):
        facts = [Fact.of(show(str(name), value), source) for name, value in payload.items()]
        if facts:
            sections.append(Section("Fields", facts))
    elif node_type(node.type).payload is not None:
        why = absence(info.evidence, EvidenceKind.PARAMETERS, "Fields not read")
        sections.append(Section("Fields", absent=why))
    return sections + extra_section(node.extra)


def payload_sections(payload: msgspec.Struct, source: str) -> list[Section]:
    """Return every field of a payload that is no kernel; ends of a copy get their own headings."""
    facts: list[Fact] = []
    ends: list[Section] = []
    for name in payload.__struct_fields__:
        value = getattr(payload, name)
        if isinstance(value, MemcpyEnd):
            ends.append(Section(label_text(name).capitalize(), _present(value, source)))
        elif _maps(value):
            facts += [
                Fact.of(show(f"{name} {place}", item), source) for place, item in enumerate(value)
            ]
        elif value not in (None, "", []):
            facts.append(Fact.of(show(name, value), source))
    fields = [Section("Fields", facts)] if facts or not ends else []
    return fields + ends


def _maps(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _present(struct: msgspec.Struct, source: str) -> list[Fact]:
    values = ((name, getattr(struct, name)) for name in struct.__struct_fields__)
    return [
        Fact.of(show(name, value), source)
        for name, value in values
        if value not in (None, "") and not (value == 0 and not name.endswith("address"))
    ]


def kernel_sections(
    payload: KernelPayload, info: GraphInfo, recording: Recording, source: str
) -> list[Section]:
    """Return launch, resources, attributes and parameters of a kernel node."""
    sections = [Section("Launch", _launch(payload, source))]
    resources = _resources(payload, info, recording, source)
    if resources:
        sections.append(Section("Resources", resources))
    else:
        why = absence(info.evidence, EvidenceKind.ATTRIBUTES, "Registers and memory not read")
        sections.append(Section("Resources", absent=why))
    if payload.attributes:
        attributes = source_of(info, EvidenceKind.ATTRIBUTES, FROM_DRIVER)
        facts = [
            Fact.of(show(name, value), attributes) for name, value in payload.attributes.items()
        ]
        sections.append(Section("Launch attributes", facts))
    why = absence(info.evidence, EvidenceKind.PARAMETERS, "Not read")
    sections.append(parameter_section(payload, source, why))
    if payload.kernel is not None:
        sections += extra_section(payload.kernel.extra)
    return sections


def _product(dims: Iterable[int]) -> int:
    total = 1
    for value in dims:
        total *= value
    return total


def _launch(payload: KernelPayload, source: str) -> list[Fact]:
    facts = []
    if payload.grid is not None:
        exact = text.counted(_product(payload.grid), "block")
        facts.append(Fact("grid", text.dims_text(payload.grid), exact, source))
    if payload.block is not None:
        exact = text.counted(_product(payload.block), "thread")
        facts.append(Fact("block", text.dims_text(payload.block), exact, source))
    if payload.grid is not None and payload.block is not None:
        threads = _product(payload.grid) * _product(payload.block)
        facts.append(Fact("threads", text.count_text(threads), "", "grid times block"))
    for name in (
        "cluster",
        "dynamic_shared_bytes",
        "cooperative",
        "priority",
        "function_handle",
    ):
        value = getattr(payload, name)
        if value is not None:
            facts.append(Fact.of(show(name, value), source))
    return facts


def _resources(
    payload: KernelPayload, info: GraphInfo, recording: Recording, source: str
) -> list[Fact]:
    kernel = payload.kernel or Kernel(name="")
    facts = [
        Fact.of(show(name, getattr(kernel, name)), source)
        for name in (
            "registers",
            "static_shared_bytes",
            "local_bytes",
            "constant_bytes",
            "max_threads_per_block",
        )
        if getattr(kernel, name) is not None
    ]
    for name in ("ptx_version", "binary_version"):
        value = getattr(kernel, name)
        if value is not None:
            version = f"{value // 10}.{value % 10}"
            facts.append(Fact(label_text(name), version, str(value), source))
    return facts + _occupancy(payload, info, recording, source)


def _occupancy(
    payload: KernelPayload, info: GraphInfo, recording: Recording, source: str
) -> list[Fact]:
    blocks = payload.max_blocks_per_multiprocessor
    if blocks is None:
        return []
    facts = [Fact("blocks per multiprocessor", text.count_text(blocks), "", source)]
    gpu = _gpu(info, recording)
    if gpu is None or payload.block is None:
        return facts
    most = gpu.max_threads_per_multiprocessor
    if most:
        threads = blocks * _product(payload.block)
        exact = f"{threads:,} of {most:,} threads per multiprocessor"
        how = "resident blocks times block size, of what the device holds"
        facts.append(Fact("occupancy", text.share_text(threads, most), exact, how))
    if gpu.multiprocessors and blocks and payload.grid is not None:
        waves = _product(payload.grid) / (blocks * gpu.multiprocessors)
        how = f"blocks of the grid over {blocks:,} x {gpu.multiprocessors:,} resident at a time"
        facts.append(Fact("waves", text.three_digits(waves), f"{waves:.6g}", how))
    return facts


def _gpu(info: GraphInfo, recording: Recording) -> Any:
    if not recording.processes:
        return None
    index = info.process if info.process is not None else 0
    if not 0 <= index < len(recording.processes):
        return None
    gpus = recording.processes[index].gpus
    wanted = [gpu for gpu in gpus if info.device is None or gpu.index == info.device]
    return wanted[0] if wanted else None
