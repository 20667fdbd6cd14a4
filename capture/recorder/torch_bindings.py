"""Named tensors that graphs point into: whether their names still lead to the same storage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import perf_counter_ns as clock
from typing import Any

from ..memory.torch_snapshot import Tables
from ..memory_after import Rebinds
from .torch_names import Binding, is_emptied, storage_of

MAX_BINDINGS = 100_000
"""Names followed at once."""
MAX_REBINDS = 20_000
"""Bindings to other storage that are kept."""
BUDGET_NS = 2_000_000_000
"""What looking again may take, over the whole process."""


class _Held:
    """What a name led to when it was last looked at."""

    __slots__ = ("address", "binding", "first_byte", "seen_us", "size_bytes")

    def __init__(self, binding: Binding, address: int, size_bytes: int, seen_us: int) -> None:
        self.binding, self.address, self.size_bytes = binding, address, size_bytes
        self.seen_us = seen_us
        self.first_byte = 0
        """Of the tensor: while that stays, it lies in the same storage."""


def _first_byte(tensor: Any) -> int:
    """Return the address of a tensor's data; 0 where it has none, or is no tensor with memory."""
    try:
        return int(tensor.data_ptr())
    except Exception:
        return 0


class Bindings:
    """Follows names from a capture on; looks when it is told to."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._held: dict[tuple[Any, ...], _Held] = {}
        self._rows: list[tuple[_Held, int, int, Any]] = []
        self._spent_ns = 0
        self._over = False

    def watch(self, found: Iterable[tuple[Binding, int, int]], at_us: int) -> None:
        """Follow names of storage that a graph points into.

        Parameters
        ----------
        found : iterable of (Binding, int, int)
            With address and bytes.
        at_us : int
        """
        for binding, address, size in found:
            if not binding.kind or len(self._held) >= MAX_BINDINGS:
                continue
            identity = binding.identity
            held = self._held.get(identity)
            if held is None or held.address != address or held.binding.owner is not binding.owner:
                self._held[identity] = _Held(binding, address, size, at_us)

    def look(self, segments: Iterable[Mapping[str, Any]], at_us: int) -> None:
        """Look which names lead elsewhere now.

        Parameters
        ----------
        segments : iterable of dict
            As torch gives them: they tell who allocated the new storage.
        at_us : int
        """
        if self._over or not self._held:
            return
        start = clock()
        moved: list[tuple[_Held, int]] = []
        for identity, held in list(self._held.items()):
            there, tensor = held.binding.holds()
            if not there or tensor is None:
                # Its owner is gone, or it was dropped: whether that was too early, frees tell.
                del self._held[identity]
                continue
            first_byte = _first_byte(tensor)
            if first_byte and first_byte == held.first_byte:
                held.seen_us = at_us
                continue
            storage = storage_of(tensor)
            if storage is None and is_emptied(tensor):
                del self._held[identity]
                continue
            if storage is not None and storage[0] == held.address:
                held.seen_us, held.first_byte = at_us, first_byte
                continue
            del self._held[identity]
            moved.append((held, storage[0] if storage is not None else 0))
        if moved:
            self._note(moved, segments, at_us)
        self._spent_ns += clock() - start
        if self._spent_ns > BUDGET_NS:
            self._over = True
            self.notes.append(
                "Names were not followed to the end: looking where they lead took too long."
            )

    def _note(
        self, moved: list[tuple[_Held, int]], segments: Iterable[Mapping[str, Any]], at_us: int
    ) -> None:
        wanted = {address for _, address in moved}
        frames: dict[int, Any] = {}
        for segment in segments:
            address = segment["address"]
            for block in segment.get("blocks", ()):
                start = block.get("address", address)
                if start in wanted:
                    frames[start] = block.get("frames")
                address = start + block["size"]
        for held, address in moved:
            if len(self._rows) < MAX_REBINDS:
                self._rows.append((held, address, at_us, frames.get(address)))

    def add_to(self, tables: Tables, allocated_us: Mapping[int, int]) -> Rebinds:
        """Return what was found as columns.

        Parameters
        ----------
        tables : Tables
        allocated_us : mapping of int to int
            When what is at an address was allocated.
        """
        found = Rebinds()
        for held, new_address, noticed_us, frames in self._rows:
            found.name.append(held.binding.name)
            found.kind.append(held.binding.kind)
            found.address.append(held.address)
            found.size_bytes.append(held.size_bytes)
            found.new_address.append(new_address)
            new_us = allocated_us.get(new_address, 0)
            found.new_us.append(new_us if new_us <= noticed_us else 0)
            found.seen_us.append(held.seen_us)
            found.noticed_us.append(noticed_us)
            found.stack.append(tables.stack(frames))
        return found
