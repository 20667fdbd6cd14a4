"""What a dry run reads and writes: checkpoints are not overwritten, loaders stay in the process."""

from __future__ import annotations

import functools
import os
from typing import Any

import torch
import torch.utils.data

from .ready_log import Log


def install(log: Log) -> None:
    """Let ``torch.save`` keep what it is given in memory, and ``torch.load`` find it there.

    Workers of a loader are processes, which fake tensors do not reach.
    """
    files: Any = torch
    load = files.load
    kept: dict[str, Any] = {}

    def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
        log.limit("torch.save wrote nothing: there is no data to write.")
        if isinstance(f, str | os.PathLike):
            kept[os.path.abspath(f)] = obj

    def restore(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(f, str | os.PathLike) and os.path.abspath(f) in kept:
            return kept[os.path.abspath(f)]
        return load(f, "cpu", *args, **kwargs)

    files.save = save
    files.load = restore
    loader: Any = torch.utils.data.DataLoader
    plain = loader.__init__

    @functools.wraps(plain)
    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("num_workers"):
            log.limit("Workers of a DataLoader were not started: it loaded in this process.")
        for name in _OF_WORKERS & set(kwargs):
            del kwargs[name]
        kwargs |= {"num_workers": 0, "pin_memory": False} if len(args) < 6 else {}
        for name in ("timeout", "persistent_workers"):
            if name in kwargs:
                kwargs[name] = 0
        plain(self, *args, **kwargs)

    loader.__init__ = make


_OF_WORKERS = {"prefetch_factor", "multiprocessing_context", "worker_init_fn", "pin_memory_device"}
