"""Analyses: one module each, found by :func:`analyses`, run by :func:`run_analysis`.

To add one, write ``capture/analysis/x.py`` with an ``ANALYSIS`` (see :mod:`capture.analysis.base`),
or declare one in another distribution under the entry-point group ``cudagraph_lens.analysis``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..errors import GraphLensError, LookupFailed
from ..model import Recording
from ..registry import discover
from .base import (
    Analysis,
    Argument,
    ArgumentKind,
    Column,
    Quantity,
    Result,
    Scope,
    Series,
    Severity,
    Unit,
)
from .kept_objects import kept_objects
from .subject import Subject

__all__ = [
    "Analysis",
    "Argument",
    "ArgumentKind",
    "Column",
    "Quantity",
    "Result",
    "Scope",
    "Series",
    "Severity",
    "Subject",
    "Unit",
    "analyses",
    "run_analysis",
]

ENTRY_POINTS = "cudagraph_lens.analysis"


@lru_cache(maxsize=1)
def analyses() -> dict[str, Analysis]:
    """Return every known analysis by name.

    An entry of another distribution that does not load, or whose name is taken, stands in the list
    under its entry point's name with a result that says so: one broken distribution costs only its
    own entries.
    """
    found: dict[str, Analysis] = dict(discover(__name__, "ANALYSIS", Analysis))
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS):
        entry: Any = None
        try:
            entry = point.load()
        except Exception as error:
            problem = f"it does not load: {type(error).__name__}: {error}"
        else:
            problem = _problem(entry, found)
        if not problem:
            found[entry.name] = entry
        elif point.name not in found:
            found[point.name] = _broken(point.name, point.value, problem)
    return found


def _problem(entry: Any, found: dict[str, Analysis]) -> str:
    if not isinstance(entry, Analysis):
        return f"it is a {type(entry).__name__}, expected an Analysis"
    if not isinstance(entry.name, str) or not entry.name:
        return "it has no name: an entry needs a non-empty text `name`"
    return f"an analysis {entry.name!r} is there already" if entry.name in found else ""


def _broken(name: str, where: str, problem: str) -> Analysis:
    reason = (
        f"the analysis {where!r} of another distribution cannot be used: {problem}; "
        f"repair or uninstall the distribution"
    )
    return Analysis(name, name, reason, lambda subject: Result.absent(reason))


def run_analysis(
    name: str, subject: Subject | Recording | tuple[Subject, Subject], **arguments: Any
) -> Result:
    """Run one analysis.

    Missing evidence, and any failure inside the analysis, come back as a result with an
    ``absent_reason``.

    Parameters
    ----------
    name : str
    subject
        What the analysis's scope asks for: a subject, a recording, or (before, after).
    **arguments
        Declared arguments; numbers may be given as text.

    Raises
    ------
    LookupFailed
        There is no such analysis, it has no such argument, or its scope is another.
    GraphLensError
        A value is not what the argument takes.
    """
    entry = analyses().get(name)
    if entry is None:
        raise LookupFailed(f"no analysis {name!r}: there are {', '.join(analyses())}")
    return run_entry(entry, subject, **arguments)


def run_entry(
    entry: Analysis, subject: Subject | Recording | tuple[Subject, Subject], **arguments: Any
) -> Result:
    """Run an analysis that need not be registered; see :func:`run_analysis`."""
    declared = {argument.name: argument for argument in entry.arguments}
    unknown = [name for name in arguments if name not in declared]
    if unknown:
        known = ", ".join(declared) or "none"
        raise LookupFailed(
            f"the analysis {entry.name!r} has no argument {unknown[0]!r}: it takes {known}"
        )
    values = {
        name: argument.accept(arguments[name]) if name in arguments else argument.default
        for name, argument in declared.items()
    }
    subjects = _subjects(entry, subject)
    for kind in entry.needs:
        for one in subjects:
            reason = one.lacks(kind)
            if reason:
                return Result.absent(reason, entry.title)
    try:
        with kept_objects():
            result = entry.run(subject, **values)
        problem = _unusable(result, subjects)
    except GraphLensError as error:
        return Result.absent(str(error), entry.title)
    except Exception as error:
        problem = f"it failed with {type(error).__name__}: {error}"
    if problem:
        return Result.absent(
            f"the analysis {entry.name!r} gave no result: {problem}; please report this to "
            f"whoever wrote it",
            entry.title,
        )
    result.title = result.title or entry.title
    return result


def _subjects(entry: Analysis, subject: object) -> tuple[Subject, ...]:
    if entry.scope is Scope.GRAPH and isinstance(subject, Subject):
        return (subject,)
    if entry.scope is Scope.RECORDING and isinstance(subject, Recording):
        return ()
    if entry.scope is Scope.PAIR and isinstance(subject, tuple) and len(subject) == 2:
        return subject
    raise LookupFailed(
        f"the analysis {entry.name!r} looks at a {entry.scope}, it was given a "
        f"{type(subject).__name__}"
    )


def _unusable(result: object, subjects: tuple[Subject, ...]) -> str:
    """Say what is wrong with a result, so that no page has to check."""
    if not isinstance(result, Result):
        return f"it returned a {type(result).__name__}, expected a Result"
    width = len(result.columns)
    if any(len(row) != width for row in result.rows):
        return f"a row does not have {width} cells, one per column"
    if len(subjects) == 1:
        count = len(subjects[0].graph)
        for places in (result.node_marks, result.node_values):
            if places and not 0 <= min(places) <= max(places) < count:
                return f"it names a node outside the graph's {count} nodes"
    if not (result.summary or result.absent_reason):
        return "it has neither a summary nor a reason why it is absent"
    return ""
