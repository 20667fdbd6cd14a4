"""Recording: observe the CUDA graphs that a process captures, and assemble what was observed.

::

    site/sitecustomize.py   put on PYTHONPATH: starts the recorder in a child process
    bootstrap               waits for torch.cuda.graphs and loads this package privately
    torch_hooks             methods of torch.cuda.graphs.CUDAGraph, patched: torch_capture_hooks
                            around captures, torch_replay_hooks around what becomes of them
    origins                 where nodes come from: noted by torch_origins*, made into tables
    session                 what one process observes; sinks are where it goes
    journal, sink           a process's own append-only file
    assemble                a folder of journals becomes a Recording, always by this function
    launch                  the parent: runs the child and passes signals and exit codes on
    runner                  the child's main file for MODULE:FUNCTION and for ``workload()``
    api                     record(), capture(), from_graph()

Only ``torch_*.py`` imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["capture", "from_graph", "label", "record"]

if TYPE_CHECKING:
    from .api import capture, from_graph, record
    from .origins.labels import label


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    where: Any
    if name == "label":
        # Before the rest is loaded: a script may use it where nothing is recorded.
        from .origins import labels as where
    else:
        from . import api as where
    value = getattr(where, name)
    globals()[name] = value
    return value
