"""Handles of graphs, from whatever people hold them in."""

from __future__ import annotations

from typing import Any

from ..errors import WorkloadError


def handle_of(graph: Any) -> int | None:
    """Return the ``CUgraph`` handle in an object, ``None`` if it is nothing of the kind.

    Known are integers, ``torch.cuda.CUDAGraph`` with ``keep_graph=True`` (or anything else with
    ``raw_cuda_graph()``), ``CUgraph`` and ``cudaGraph_t`` of cuda-bindings.

    Raises
    ------
    WorkloadError
        It is a torch graph that did not keep its ``CUgraph``.
    """
    if isinstance(graph, bool):
        return None
    if isinstance(graph, int):
        return graph
    raw = getattr(graph, "raw_cuda_graph", None)
    if callable(raw):
        try:
            return int(raw())
        except RuntimeError as error:
            raise WorkloadError(
                f"this {type(graph).__name__} no longer has its CUgraph: make it with "
                f"torch.cuda.CUDAGraph(keep_graph=True) (torch 2.8 or newer), or capture it while "
                f"recording ({str(error).partition(chr(10))[0]})"
            ) from error
    if type(graph).__name__ in ("CUgraph", "cudaGraph_t"):
        return int(graph)
    return None
