"""Addresses that a graph's nodes hold, and the memory blocks they lie in. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..model import Graph

LOWEST, END = 1 << 32, 1 << 47
"""Where CUDA places memory on 64-bit systems: words outside are no addresses."""


class Pointer(NamedTuple):
    """Where in a graph an address was found."""

    node: str
    """Path of the node."""
    what: str
    """Such as ``"destination"`` or ``"argument byte 16"``."""


def addresses(graph: Graph) -> dict[int, Pointer]:
    """Return every word of a graph that may be an address, with the first node that holds it.

    Words of kernel arguments at multiples of 8 bytes, ends of memcpys, memsets and operations on
    memory, bodies included. A number that happens to look like an address is among them.
    """
    found: dict[int, Pointer] = {}
    for path, level in graph.walk():
        prefix = f"{path}/" if path else ""
        for position, payload in enumerate(level.payloads):
            for address, what in _of(payload):
                if LOWEST <= address < END and address not in found:
                    found[address] = Pointer(f"{prefix}{position}", what)
    return found


def _of(payload: Any) -> Iterator[tuple[int, str]]:
    arguments = getattr(payload, "arguments", None)
    if arguments:
        words = array("Q")
        words.frombytes(arguments[: len(arguments) // 8 * 8])
        for index, word in enumerate(words):
            if LOWEST <= word < END:
                yield word, f"argument byte {8 * index}"
        return
    for name in ("source", "destination"):
        end = getattr(payload, name, None)
        address = getattr(end, "address", None)
        if isinstance(address, int):
            yield address, name
    address = getattr(payload, "address", None)
    if isinstance(address, int):
        yield address, "destination"
    for operation in getattr(payload, "operations", None) or ():
        address = operation.get("address")
        if isinstance(address, int):
            yield address, "operation"


def address_set(graph: Graph) -> set[int]:
    """Return what :func:`addresses` finds, without where; for large graphs several times faster."""
    held: list[bytes] = []
    found: set[int] = set()
    for _, level in graph.walk():
        for payload in level.payloads:
            arguments = getattr(payload, "arguments", None)
            if arguments:
                held.append(
                    arguments if not len(arguments) % 8 else arguments[: -(len(arguments) % 8)]
                )
            elif payload is not None:
                found.update(address for address, _ in _of(payload))
    words = array("Q")
    words.frombytes(b"".join(held))
    found.update(words)
    return {address for address in found if LOWEST <= address < END}


class Block(NamedTuple):
    """One block of an allocator."""

    start: int
    size_bytes: int


class BlockMap:
    """Blocks of memory, found by an address inside them.

    Parameters
    ----------
    blocks : iterable of Block
        Not overlapping.
    """

    def __init__(self, blocks: Iterable[Block]) -> None:
        self.blocks = sorted(blocks)
        self._starts = [block.start for block in self.blocks]

    def __len__(self) -> int:
        return len(self.blocks)

    def find(self, address: int) -> Block | None:
        """Return the block that an address lies in."""
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        block = self.blocks[at]
        return block if address < block.start + block.size_bytes else None

    @property
    def span(self) -> tuple[int, int]:
        """The lowest address and the end of the highest block; equal when there is none."""
        if not self.blocks:
            return 0, 0
        last = self.blocks[-1]
        return self.blocks[0].start, last.start + last.size_bytes


COMMON_POOL = (0, 0)
"""Of allocations outside any private pool."""


def blocks_of(
    segments: Sequence[dict[str, Any]], device: int | None, *, common_only: bool = False
) -> BlockMap:
    """Return the blocks in ``torch.cuda.memory_snapshot()``, free ones included.

    Parameters
    ----------
    segments : sequence of dict
    device : int or None
        Segments of other devices are left out; ``None`` takes all.
    common_only : bool
        Leave out private pools, such as those of graphs.
    """
    found = []
    for segment in segments:
        if device is not None and segment.get("device", device) != device:
            continue
        if common_only and tuple(segment.get("segment_pool_id", COMMON_POOL)) != COMMON_POOL:
            continue
        found += [Block(block["address"], int(block["size"])) for block in _placed(segment)]
    return BlockMap(found)


def temporaries_of(segments: Sequence[dict[str, Any]], device: int | None) -> set[Block]:
    """Return free blocks of private pools: there a graph keeps what lives only in a replay."""
    found = blocks_of(segments, device).blocks
    common = set(blocks_of(segments, device, common_only=True).blocks)
    used = [
        {**segment, "blocks": [b for b in _placed(segment) if b.get("state") != "inactive"]}
        for segment in segments
    ]
    return set(found) - common - set(blocks_of(used, device).blocks)


def private_spans(
    segments: Sequence[dict[str, Any]], device: int | None, starts: Iterable[int]
) -> BlockMap:
    """Return the parts of private pools in which any of some addresses lies, each as one block.

    A temporary that was freed during a capture lies in other blocks when it has ended, such as
    those of tensors that took its place: blocks do not bound what a node may touch there.
    """
    private = [
        segment
        for segment in segments
        if (device is None or segment.get("device", device) == device)
        and tuple(segment.get("segment_pool_id", COMMON_POOL)) != COMMON_POOL
    ]
    found: list[Block] = []
    for segment in private:  # never over two of them: no copy may reach from one into another
        first = len(found)
        for block in blocks_of([segment], None).blocks:
            if len(found) > first and found[-1].start + found[-1].size_bytes == block.start:
                found[-1] = Block(found[-1].start, found[-1].size_bytes + block.size_bytes)
            else:
                found.append(block)
    spans = BlockMap(found)
    touched = {spans.find(start) for start in starts} - {None}
    return BlockMap(span for span in touched if span is not None)


def _placed(segment: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the blocks of a segment with their addresses, which torch before 2.1 left out."""
    at = int(segment["address"])
    for block in segment.get("blocks", ()):
        start = int(block.get("address", at))
        yield {**block, "address": start}
        at = start + int(block["size"])


def lost(
    resolved: dict[int, Pointer], blocks: BlockMap, known: Iterable[int] = ()
) -> tuple[int, Pointer] | None:
    """Return an address that was memory at capture and is none any more.

    Parameters
    ----------
    resolved : dict of int to Pointer
        Addresses that lay in memory when the graph was captured.
    blocks : BlockMap
        torch's blocks now.
    known : iterable of int
        Addresses outside them that CUDA knows now.
    """
    elsewhere = set(known)
    for address, pointer in resolved.items():
        if blocks.find(address) is None and address not in elsewhere:
            return address, pointer
    return None


def replaced(
    resolved: dict[int, Pointer],
    buffers: dict[int, int | None],
    buffer_of: Callable[[int], int | None],
) -> tuple[int, Pointer] | None:
    """Return an address whose memory was freed since, whatever is there now.

    Parameters
    ----------
    resolved : dict of int to Pointer
        Addresses that lay in memory when the graph was captured.
    buffers : dict of int to int or None
        Number of the allocation that each of them lay in then.
    buffer_of : callable
        Returns the number now.
    """
    for address, pointer in resolved.items():
        if address in buffers and buffer_of(address) != buffers[address]:
            return address, pointer
    return None
