"""Compare two graphs, or two recordings, node by node.

``compare(before, after)`` is the entry; it takes graphs, graphs with their evidence
(:class:`~capture.analysis.Subject`), recordings, or paths of files.
"""

from __future__ import annotations

import sys
from os import PathLike
from types import ModuleType
from typing import Any, overload

from ..analysis import Subject
from ..errors import LookupFailed
from ..model import Graph, Recording
from .alignment import Alignment, align
from .changes import Counts, NodeChange
from .diff import GraphDiff, compare_graphs
from .edges import EdgeChange
from .measures import Finding, Measure
from .parameters import FieldChange
from .recordings import (
    GraphPair,
    RecordingDiff,
    compare_recordings,
    pair_graphs,
    subject_of,
    update_between,
)
from .update import UpdateVerdict, Violation, update_verdict

__all__ = [
    "Alignment",
    "Counts",
    "EdgeChange",
    "FieldChange",
    "Finding",
    "GraphDiff",
    "GraphPair",
    "Measure",
    "NodeChange",
    "RecordingDiff",
    "UpdateVerdict",
    "Violation",
    "align",
    "compare",
    "compare_graphs",
    "compare_recordings",
    "pair_graphs",
    "subject_of",
    "update_between",
    "update_verdict",
]

File = str | PathLike[str]


@overload
def compare(before: Graph | Subject, after: Graph | Subject) -> GraphDiff: ...
@overload
def compare(before: Recording | File, after: Recording | File) -> RecordingDiff: ...
def compare(
    before: Graph | Subject | Recording | File, after: Graph | Subject | Recording | File
) -> GraphDiff | RecordingDiff:
    """Say what differs between two graphs, or between two recordings graph by graph.

    Parameters
    ----------
    before, after
        Two graphs (subjects bring timings and origins), or two recordings or files of any format.

    Returns
    -------
    GraphDiff or RecordingDiff
        Of graphs the one, of recordings the other.

    Raises
    ------
    LookupFailed
        One is a graph and the other a recording.
    FormatError
        A file cannot be read.

    Examples
    --------
    >>> from capture.model import Topology
    >>> one = Graph(topology=Topology(types=["memset"]), payloads=[None])
    >>> other = Graph(topology=Topology(types=["memset", "empty"]), payloads=[None, None])
    >>> compare(one, other).counts.added
    1
    """
    if isinstance(before, (Graph, Subject)) and isinstance(after, (Graph, Subject)):
        return compare_graphs(before, after)
    if isinstance(before, (Graph, Subject)) or isinstance(after, (Graph, Subject)):
        raise LookupFailed(
            "one side is a graph and the other a recording: compare with recording.graph(key)"
        )
    return compare_recordings(_opened(before), _opened(after))


def _opened(source: Recording | File) -> Recording:
    if isinstance(source, Recording):
        return source
    from ..formats import read

    return read(source)


class _CallablePackage(ModuleType):
    """The package and the function of its name are one: ``capture.compare(before, after)``.

    Importing a submodule sets the parent's attribute to the package, whatever stood there.
    """

    def __call__(self, before: Any, after: Any) -> GraphDiff | RecordingDiff:
        result: GraphDiff | RecordingDiff = compare(before, after)
        return result


sys.modules[__name__].__class__ = _CallablePackage
