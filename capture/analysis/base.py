"""What an analysis is, and what it returns.

Results are generic: whoever shows, stores or compares them reads columns, figures and values per
node, and never asks which analysis they came from. Numbers keep their unit beside them; text with
units is made by whoever shows the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from ..model import EvidenceKind
from .argument import Argument, ArgumentKind, rows_argument
from .units import Unit

__all__ = [
    "Analysis",
    "Argument",
    "ArgumentKind",
    "Cell",
    "Column",
    "Quantity",
    "Result",
    "Scope",
    "Series",
    "Severity",
    "Unit",
    "rows_argument",
]

Cell = int | float | str | None
"""``None`` where a row has no such value."""


class Severity(StrEnum):
    """How much a result asks for attention."""

    INFO = "info"
    NOTICE = "notice"
    """Something could be gained here."""
    WARNING = "warning"
    """Something is wrong."""


class Scope(StrEnum):
    """What an analysis looks at; it decides the first argument of ``run``."""

    GRAPH = "graph"
    """One :class:`~capture.analysis.subject.Subject`."""
    RECORDING = "recording"
    """A :class:`~capture.model.Recording`."""
    PAIR = "pair"
    """A tuple (before, after) of two subjects."""


class Quantity(msgspec.Struct, frozen=True):
    """A value with its unit."""

    value: Cell
    unit: Unit


class Column(msgspec.Struct, frozen=True):
    """One column of a result's table."""

    name: str
    unit: Unit


class Series(msgspec.Struct, kw_only=True):
    """A line to plot: `y` holds from each `x` to the next."""

    name: str
    x_unit: Unit
    y_unit: Unit
    x: list[int]
    y: list[int | float]


class Result(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What an analysis found, or why it could not look.

    Attributes
    ----------
    title : str
        The analysis's own title when left empty.
    summary : str
        One sentence. ``{name}`` stands for the figure of that name; see :meth:`text`.
    figures : dict of str to Quantity
        The numbers that matter, by stable names.
    columns, rows
        A table; every row has one cell per column.
    node_values : dict of int to number
        A value per node, by position in the subject's graph, in `node_unit`; called `node_name`.
    node_marks : list of int
        Positions of nodes that stand out, because they are `mark_name`.
    series : list of Series
    severity : Severity
    notes : list of str
        Caveats, each one sentence; figures are named in them as in the summary.
    absent_reason : str
        Why there is no result; all else is empty then.
    """

    title: str = ""
    summary: str = ""
    figures: dict[str, Quantity] = msgspec.field(default_factory=dict)
    columns: list[Column] = msgspec.field(default_factory=list)
    rows: list[tuple[Cell, ...]] = msgspec.field(default_factory=list)
    node_values: dict[int, int | float] = msgspec.field(default_factory=dict)
    node_unit: Unit = Unit.COUNT
    node_name: str = ""
    node_marks: list[int] = msgspec.field(default_factory=list)
    mark_name: str = ""
    series: list[Series] = msgspec.field(default_factory=list)
    severity: Severity = Severity.INFO
    notes: list[str] = msgspec.field(default_factory=list)
    absent_reason: str = ""

    @classmethod
    def absent(cls, reason: str, title: str = "", notes: Sequence[str] = ()) -> Result:
        """Return a result that says why there is none."""
        return cls(title=title, absent_reason=reason, notes=list(notes))

    @property
    def present(self) -> bool:
        """Whether there is a result."""
        return not self.absent_reason

    def text(self, template: str, show: Callable[[Cell, Unit], str] | None = None) -> str:
        """Return the summary or a note with its figures written out.

        Parameters
        ----------
        template : str
            ``result.summary`` or one of ``result.notes``.
        show : callable, optional
            ``show(value, unit)`` writes one figure; without it numbers are exact, with the unit's
            plain name.

        Examples
        --------
        >>> result = Result(figures={"idle": Quantity(1500, Unit.NS)}, summary="Idle for {idle}.")
        >>> result.text(result.summary)
        'Idle for 1500 ns.'
        """
        write = show or _plain

        def fill(match: re.Match[str]) -> str:
            figure = self.figures.get(match[1])
            return match[0] if figure is None else write(figure.value, figure.unit)

        return re.sub(r"\{(\w+)\}", fill, template)


def _plain(value: Cell, unit: Unit) -> str:
    if value is None:
        return "unknown"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    bare = unit in (Unit.COUNT, Unit.RATIO, Unit.TEXT, Unit.NODE)
    return text if bare else f"{text} {unit.value.replace('_per_', '/')}"


@dataclass(frozen=True)
class Analysis:
    """One entry of the analysis extension point.

    Attributes
    ----------
    name : str
        Lower case with underscores; the module's name.
    title : str
        For people.
    description : str
        One sentence: which question it answers.
    run : callable
        ``run(subject, **arguments)`` returns a :class:`Result`. Pure: no input, no output.
    scope : Scope
        What ``run`` is given.
    needs : tuple of EvidenceKind
        Without any of these there is no result; the caller says so, ``run`` is not called.
    uses : tuple of EvidenceKind
        With these the result says more.
    arguments : tuple of Argument
    overview : bool
        Whether its summary stands on the page of a recording too; it has to be fast then.
    finding : bool
        Whether it looks for faults; see :mod:`capture.analysis.found` for how its rows are read.
    """

    name: str
    title: str
    description: str
    run: Callable[..., Result]
    scope: Scope = Scope.GRAPH
    needs: tuple[EvidenceKind, ...] = ()
    uses: tuple[EvidenceKind, ...] = ()
    arguments: tuple[Argument, ...] = ()
    overview: bool = False
    finding: bool = False
