"""Search for nodes by name, type, kernel, lane, position, or where they come from."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capture.model import Graph
from capture.names import family
from capture.origin_index import OriginIndex

from .figures.scene import Colouring
from .format import type_text
from .naming import kernel_of
from .origin_search import FIELDS, OriginTerms


@dataclass(frozen=True)
class Index:
    """Distinct texts of a graph's nodes in lower case, and which of them each node has."""

    count: int
    texts: list[str]
    text: NDArray[np.int32]
    fields: Mapping[str, tuple[list[str], NDArray[np.int32]]]
    """Per field: names as the legends give them, in lower case, and one index per node."""
    origins: OriginTerms | None = None

    @classmethod
    def of(
        cls,
        graph: Graph,
        labels: Sequence[str],
        names: Sequence[str],
        lane: NDArray[np.int32],
        colourings: Mapping[str, Colouring],
        origins: OriginIndex | None = None,
    ) -> Index:
        """Index a graph.

        Parameters
        ----------
        graph : Graph
        labels, names : sequence of str
            Short and full name per node.
        lane : array of int
            Lane per node.
        colourings : mapping
            Their legends are the names of `type:` and `kernel:` and `lane:` terms.
        origins : OriginIndex, optional
            Adds the terms of :mod:`graphviz_app.origin_search`.
        """
        position: dict[tuple[str, str, str, str], int] = {}
        text = np.empty(len(graph), np.int32)
        for node, short, full in zip(graph.nodes(), labels, names, strict=True):
            kernel = kernel_of(node)
            key = (type_text(node.type), short, full, kernel.name if kernel is not None else "")
            text[node.position] = position.setdefault(key, len(position))
        fields = {
            name: (
                [entry.name.lower() for entry in colouring.legend],
                np.asarray(colouring.index, np.int32),
            )
            for name, colouring in colourings.items()
        }
        fields["family"] = _families(graph)
        texts = ["\n".join(key).lower() for key in position]
        terms = OriginTerms(origins) if origins is not None else None
        return cls(len(graph), texts, text, fields, terms)

    def find(self, query: str) -> NDArray[np.int64]:
        """Return the positions of nodes that match, in creation order.

        Parameters
        ----------
        query : str
            Words that must all be in the type, the short, readable or mangled name. ``type:``,
            ``kernel:``, ``lane:``, ``time:`` and ``path:`` ask for one entry of a legend, in
            quotes if it has spaces; ``family:`` for kernels that do the same on other shapes.
            A number alone, or with ``#``, is a position. Where origins are known, words may also
            be in a module's path, an operator or a ``file:line``, and ``module:``, ``class:``,
            ``operator:``, ``source:``, ``phase:`` and more ask for one of these.
        """
        terms = _terms(query)
        if not terms:
            return np.empty(0, np.int64)
        keep = np.ones(self.count, np.bool_)
        for term in terms:
            keep &= self._match(term, alone=len(terms) == 1)
        return np.flatnonzero(keep)

    def _match(self, term: str, *, alone: bool) -> NDArray[np.bool_]:
        field, colon, value = term.partition(":")
        if colon and field in self.fields:
            names, index = self.fields[field]
            value = f"lane {value}" if field == "lane" and value.isdecimal() else value
            wanted = [i for i, name in enumerate(names) if name == value]
            if not wanted and field in FIELDS and self.origins is not None:
                return self.origins.match(field, value)
            if not wanted:
                wanted = [i for i, name in enumerate(names) if value and value in name]
            return np.isin(index, wanted)
        if colon and field in FIELDS and self.origins is not None:
            return self.origins.match(field, value)
        number = term.removeprefix("#")
        if number.isdecimal() and (alone or term != number):
            found = np.zeros(self.count, np.bool_)
            if len(number) <= 9 and int(number) < self.count:
                found[int(number)] = True
            if term != number or found.any():
                return found
        hits = [i for i, text in enumerate(self.texts) if term in text]
        mask: NDArray[np.bool_] = np.isin(self.text, hits)
        return mask if self.origins is None else mask | self.origins.words(term)


def _families(graph: Graph) -> tuple[list[str], NDArray[np.int32]]:
    """Return families of kernels in lower case, and one index per node; -1 for no kernel."""
    position: dict[str, int] = {}
    known: dict[int, int] = {}
    index = np.full(len(graph), -1, np.int32)
    for node in graph.nodes():
        kernel = kernel_of(node)
        if kernel is None:
            continue
        place = known.get(id(kernel))
        if place is None:
            name = family(kernel.name).lower()
            place = known[id(kernel)] = position.setdefault(name, len(position))
        index[node.position] = place
    return list(position), index


def _terms(query: str) -> list[str]:
    try:
        words = shlex.split(query.lower(), posix=True)
    except ValueError:
        # A quote that is still open while the user types.
        words = query.lower().replace('"', " ").replace("'", " ").split()
    return words


def term(field: str, name: str) -> str:
    """Return the query that finds one entry of a legend.

    Examples
    --------
    >>> term("type", "mem alloc"), term("lane", "lane 3")
    ('type:"mem alloc"', 'lane:3')
    """
    if field == "lane" and name.removeprefix("lane ").isdecimal():
        name = name.removeprefix("lane ")
    quoted = name if name and not set(name) & set(" '\"\\") else '"' + name.replace('"', " ") + '"'
    return f"{field}:{quoted}"
