"""The ten named real workloads that recordings, tests and benchmarks are measured on.

Each module defines ``NAME``, ``DESCRIPTION`` and ``build(device, small)``, which returns a
:class:`~tests.workloads.protocol.Workload`. Weights are random and seeded; nothing is downloaded.
Run one as a script would be run: ``python -m tests.workloads gpt_train --replays 20``.
"""

from __future__ import annotations

import importlib
from typing import cast

from .protocol import Workload, WorkloadModule

__all__ = ["NAMES", "Workload", "WorkloadModule", "load"]

NAMES: tuple[str, ...] = (
    "llama_decode",
    "gpt_train",
    "convnet_train",
    "streams_forkjoin",
    "encoder_compiled",
    "partial_callables",
    "triton_fused",
    "unet_step",
    "moe_block",
    "batch_ladder",
)


def load(name: str) -> WorkloadModule:
    """Import the module of one workload.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`.

    Raises
    ------
    ValueError
        If no workload has that name; the message lists those that there are.
    """
    if name not in NAMES:
        raise ValueError(f"no workload is called {name!r}; there are: {', '.join(NAMES)}")
    return cast(WorkloadModule, importlib.import_module(f"{__name__}.{name}"))
