"""torch's memory snapshot (``torch.cuda.memory._dump_snapshot``); read only.

It becomes a recording without graphs, whose one process has the snapshot. The pickle is read by an
unpickler that runs and imports nothing; see :mod:`capture.memory.restricted_pickle`.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import FormatError, TooLargeError
from ..model import Metadata, Process, Recording
from .base import Format


def sniff(head: bytes, path: Path) -> int:
    """Recognise a pickle, and a snapshot's above others."""
    if len(head) < 2 or head[0] != 0x80 or not 2 <= head[1] <= 5:
        return 1 if path.suffix in (".pickle", ".pkl") else 0
    return 95 if b"segments" in head or b"total_size" in head else 40


def read(path: Path) -> Recording:
    """Read a snapshot as a recording.

    Raises
    ------
    FormatError
        It is no snapshot, damaged or too large.
    """
    from ..memory.restricted_pickle import MAX_BYTES
    from ..memory.snapshot_file import read_snapshot

    size = path.stat().st_size
    if size > MAX_BYTES:
        raise TooLargeError(f"{path} has {size} bytes; snapshots up to {MAX_BYTES} are read")
    try:
        snapshot = read_snapshot(path.read_bytes())
    except FormatError as error:
        raise type(error)(f"{path}: {error}") from error
    return Recording(
        Metadata(title=path.name, source=FORMAT.name),
        [],
        processes=[
            Process(pid=0, extra={"unknown": "a memory snapshot does not name its process"})
        ],
        evidence={"snapshots": {"0": snapshot}},
    )


FORMAT = Format(
    name="torch-memory",
    extensions=(".pickle", ".pkl"),
    description="torch's memory snapshot, from torch.cuda.memory._dump_snapshot; read only",
    sniff=sniff,
    read=read,
)
