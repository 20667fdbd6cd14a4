"""Calls about the launch attributes of kernel nodes."""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from .entry_points import EntryPoints
from .many import each
from .records import LaunchAttributes, RareAttributes

_CALL = "cuGraphKernelNodeGetAttribute"
_BYTES = 64
_PROBED_NODES = 4
_COOPERATIVE, _CLUSTER, _PRIORITY = ALWAYS = 2, 4, 8
"""Attributes that every kernel node is asked for."""
_UNSET = {_COOPERATIVE: False, _CLUSTER: None, _PRIORITY: 0}
"""What zeros mean."""


class _Attribute(NamedTuple):
    """A ``CUlaunchAttributeID``: how its value is laid out, and what it is when nobody set it.

    All zeros count as a default of every attribute.
    """

    name: str
    layout: str
    fields: tuple[str, ...] = ()
    defaults: tuple[bytes, ...] = ()


_ATTRIBUTES: dict[int, _Attribute] = {
    1: _Attribute(
        "access_policy_window",
        "<QQfii",
        ("base_address", "size_bytes", "hit_ratio", "hit_property", "miss_property"),
    ),
    2: _Attribute("cooperative", "<i"),
    3: _Attribute("synchronization_policy", "<i", defaults=(struct.pack("<i", 1),)),
    4: _Attribute("cluster_dimension", "<3I", ("x", "y", "z")),
    # A stream capture leaves 1 (spread) on every kernel, with a cluster or without: seen on 13.0.
    5: _Attribute("cluster_scheduling_policy_preference", "<i", defaults=(struct.pack("<i", 1),)),
    6: _Attribute("programmatic_stream_serialization", "<i"),
    7: _Attribute(
        "programmatic_event", "<Qii", ("event_handle", "flags", "trigger_at_block_start")
    ),
    8: _Attribute("priority", "<i"),
    9: _Attribute("mem_sync_domain_map", "<BB", ("default", "remote"), defaults=(b"\0\1",)),
    10: _Attribute("mem_sync_domain", "<i"),
    11: _Attribute("preferred_cluster_dimension", "<3I", ("x", "y", "z")),
    12: _Attribute("launch_completion_event", "<Qi", ("event_handle", "flags")),
    13: _Attribute(
        "device_updatable_kernel_node", "<i4xQ", ("device_updatable", "device_node_handle")
    ),
    14: _Attribute("preferred_shared_memory_carveout", "<i", defaults=(struct.pack("<i", -1),)),
    16: _Attribute("nvlink_util_centric_scheduling", "<I"),
    17: _Attribute("portable_cluster_size_mode", "<i"),
    18: _Attribute("shared_memory_mode", "<i"),
}
# Ids beyond cuda.h 13.3 are asked for too; one that answers is kept as raw words.
_HIGHEST_ATTRIBUTE = 24


def _attribute(number: int) -> _Attribute:
    return _ATTRIBUTES.get(number) or _Attribute(f"attribute_{number}", "<16I")


class AttributeCalls:
    """The part of :class:`~capture.driver.protocol.Driver` about launch attributes."""

    entry: EntryPoints
    _answered: list[int] | None = None

    def launch_attributes(self, nodes: Sequence[int]) -> LaunchAttributes:
        """See :meth:`capture.driver.protocol.Driver.launch_attributes`."""
        answered = [number for number in self.answered(nodes) if number in ALWAYS]
        columns: dict[int, list[Any]] = {number: [] for number in ALWAYS}
        for number in answered:
            outputs, results = self._ask(number, nodes)
            column: list[Any]
            if outputs == bytes(len(outputs)):
                column = [_UNSET[number]] * len(nodes)
            elif number == _CLUSTER:
                rows = _layout(_attribute(number)).iter_unpack(outputs)
                column = [row if any(row) else None for row in rows]
            else:
                column = array("i", outputs)[:: _BYTES // 4].tolist()
                if number == _COOPERATIVE:
                    column = list(map(bool, column))
            if any(results):
                column = [
                    None if result else value for value, result in zip(column, results, strict=True)
                ]
            columns[number] = column
        return LaunchAttributes(
            cluster=columns[_CLUSTER],
            cooperative=columns[_COOPERATIVE],
            priority=columns[_PRIORITY],
            asked=tuple(_attribute(number).name for number in answered),
        )

    def rare_attributes(self, nodes: Sequence[int]) -> RareAttributes:
        """See :meth:`capture.driver.protocol.Driver.rare_attributes`."""
        answered = [number for number in self.answered(nodes) if number not in ALWAYS]
        differing: dict[int, dict[str, Any]] = {}
        for number in answered:
            attribute = _attribute(number)
            outputs, results = self._ask(number, nodes)
            defaults = {
                bytes(_BYTES),
                *(value.ljust(_BYTES, b"\0") for value in attribute.defaults),
            }
            if any(outputs == default * len(nodes) for default in defaults):
                continue
            for index, values in enumerate(_layout(attribute).iter_unpack(outputs)):
                start = index * _BYTES
                if results[index] or outputs[start : start + _BYTES] in defaults:
                    continue
                differing.setdefault(index, {})[attribute.name] = _plain(attribute, values)
        return RareAttributes(differing, tuple(_attribute(number).name for number in answered))

    def _ask(self, number: int, nodes: Sequence[int]) -> tuple[bytes, list[int]]:
        return each(self.entry.reader(_CALL), nodes, _BYTES, number)

    def answered(self, nodes: Sequence[int]) -> list[int]:
        """Return the attributes this driver answers for, found out on a few nodes, once."""
        if self._answered is not None:
            return self._answered
        step = max(1, len(nodes) // _PROBED_NODES)
        probed = nodes[::step][:_PROBED_NODES]
        output = ctypes.create_string_buffer(_BYTES)
        ask = self.entry.reader(_CALL)
        answered = [
            number
            for number in range(1, _HIGHEST_ATTRIBUTE + 1)
            if 0 in (ask(node, number, ctypes.addressof(output)) for node in probed)
        ]
        if answered:
            self._answered = answered
        return answered


def _layout(attribute: _Attribute) -> struct.Struct:
    return struct.Struct(f"{attribute.layout}{_BYTES - struct.calcsize(attribute.layout)}x")


def _plain(attribute: _Attribute, values: tuple[Any, ...]) -> Any:
    if attribute.fields:
        return dict(zip(attribute.fields, values, strict=True))
    return values[0] if len(values) == 1 else list(values)
