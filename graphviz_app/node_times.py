"""Times of a graph's nodes as arrays by position, for colours and tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capture.analysis import Result, Subject


@dataclass(frozen=True)
class NodeTimes:
    """What is known about when nodes ran, by position.

    Attributes
    ----------
    duration_ns : array of float, shape ``(n,)``
        NaN where a node was not timed.
    slack_ns : array of float, shape ``(n,)``
        NaN where it is not known.
    path : array of int
        Positions on the critical path, in order; empty when there is none.
    """

    duration_ns: NDArray[np.float64]
    slack_ns: NDArray[np.float64]
    path: NDArray[np.int64]

    @classmethod
    def of(cls, subject: Subject, critical: Result) -> NodeTimes:
        """Return the times of a subject with timings.

        Parameters
        ----------
        subject : Subject
        critical : Result
            Of the analysis of the critical path: its marks are the path, its values the slack.
        """
        count = len(subject.graph)
        durations = np.array(
            [np.nan if value is None else value for value in subject.durations], np.float64
        )
        slack = np.full(count, np.nan)
        if critical.node_values:
            slack[list(critical.node_values)] = list(critical.node_values.values())
        return cls(durations, slack, np.array(critical.node_marks, np.int64))

    @property
    def on_path(self) -> NDArray[np.bool_]:
        """Whether each node is on the critical path, shape ``(n,)``."""
        found = np.zeros(len(self.duration_ns), np.bool_)
        found[self.path] = True
        return found
