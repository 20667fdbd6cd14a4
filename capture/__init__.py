"""See, time, explain and compare CUDA graphs: the headless half of CUDA Graph Lens.

======================  =====================================================================
``record(path)``        record every graph that is captured inside a ``with`` block
``capture(fn, *args)``  capture a function into a graph and return the recording
``label(name)``         name the nodes, or the graph, that a ``with`` block captures
``from_graph(graph)``   read a ``torch.cuda.CUDAGraph`` or a raw ``CUgraph`` handle
``read(path)``          open a recording, or a DOT or JSON file
``write(rec, path)``    save a recording
``compare(a, b)``       what differs between two graphs or recordings
``to_networkx(graph)``  a ``networkx.DiGraph`` with plain attributes; ``from_networkx`` back
======================  =====================================================================

Importing this package loads no torch, no CUDA and no networkx; each name loads what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_WHERE = {
    "capture": ".recorder",
    "compare": ".compare",
    "from_graph": ".recorder",
    "from_networkx": ".topology",
    "label": ".recorder",
    "read": ".formats",
    "record": ".recorder",
    "to_networkx": ".topology",
    "write": ".formats",
}

__all__ = [
    "capture",
    "compare",
    "from_graph",
    "from_networkx",
    "label",
    "read",
    "record",
    "to_networkx",
    "write",
]

if TYPE_CHECKING:
    from .compare import compare
    from .formats import read, write
    from .recorder import capture, from_graph, label, record
    from .topology import from_networkx, to_networkx


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(where, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
