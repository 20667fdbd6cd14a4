"""Comparing memory on the device, with torch."""

from __future__ import annotations

from typing import Any

from ...writes import GRAIN_BYTES
from .memory_changes import Chunks, HostCompare

PIECE_BYTES = 64 << 20
WORD_BYTES = 8


class _Memory:
    """Memory at an address, as torch takes it from other libraries."""

    def __init__(self, address: int, words: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (words,),
            "typestr": "<i8",
            "data": (address, False),
            "version": 3,
        }


class TorchCompare:
    """Says which chunks of device memory differ.

    What torch allocates for it comes from a pool of its own: no block that the script has freed,
    and that a graph may still point into, is taken.

    Parameters
    ----------
    host : HostCompare
        Compares what the device cannot.
    """

    def __init__(self, host: HostCompare) -> None:
        import torch

        self._torch: Any = torch
        self._host = host
        self._pool: Any = torch.cuda.MemPool()

    def __call__(self, here: int, there: int, size_bytes: int) -> list[int]:
        """Return the numbers of chunks that differ."""
        whole = size_bytes // GRAIN_BYTES * GRAIN_BYTES
        found: list[int] = []
        if here % WORD_BYTES or there % WORD_BYTES:
            return self._host(here, there, size_bytes)
        try:
            with self._torch.cuda.use_mem_pool(self._pool):
                for at in range(0, whole, PIECE_BYTES):
                    size = min(PIECE_BYTES, whole - at)
                    first = at // GRAIN_BYTES
                    found += [first + number for number in self._piece(here + at, there + at, size)]
        except Exception:  # such as pinned memory, which torch does not take for the device's
            return self._host(here, there, size_bytes)
        if whole < size_bytes:
            last = whole // GRAIN_BYTES
            tail = self._host(here + whole, there + whole, size_bytes - whole)
            found += [last + number for number in tail]
        return found

    def _piece(self, here: int, there: int, size_bytes: int) -> list[int]:
        words, per_chunk = size_bytes // WORD_BYTES, GRAIN_BYTES // WORD_BYTES
        make = self._torch.as_tensor
        one, other = (make(_Memory(at, words), device="cuda") for at in (here, there))
        differ = (one != other).view(-1, per_chunk).any(1)
        numbers: list[int] = differ.nonzero().flatten().tolist()
        return numbers


def comparing(host: HostCompare) -> Chunks:
    """Return what compares fastest here."""
    try:
        return TorchCompare(host)
    except Exception:  # torch before 2.5, or none with CUDA
        return host
