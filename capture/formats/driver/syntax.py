"""Statements of a DOT file, in one linear pass that survives a file cut off anywhere.

Hand-written because the parsers at hand do not fit: pydot builds a pyparsing tree (minutes and
gigabytes for 100,000 nodes) and refuses truncated input; pygraphviz needs the C library and keeps
neither positions nor partial input. Only what a dump of a graph needs is here: HTML strings and
node ports are passed over.

Source: https://graphviz.org/doc/info/lang.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ...errors import FormatError, TooLargeError

MAX_DEPTH = 1000
"""Subgraphs inside subgraphs."""

# Possessive quantifiers: without them a missing quote costs a scan per starting point.
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_ID = rf"(?:{_STRING}|[^\W\d]\w*+|-?\.?\d[\w.]*+)"
_ATTRIBUTES = rf'\[((?:[^\]"]++|{_STRING})*+)\]'
_SKIP = re.compile(r"(?:[\s;,]++|//[^\n]*+|#[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)*+")
_STATEMENT = re.compile(
    rf"({_ID})\s*+(?::\s*+\w++\s*+)*+(?:->\s*+({_ID})\s*+(?::\s*+\w++\s*+)*+)?(?:{_ATTRIBUTES})?",
    re.DOTALL,
)
_AFTER_EDGE = re.compile(rf"\s*+->\s*+({_ID})\s*+(?:{_ATTRIBUTES})?", re.DOTALL)
_CUT_HEADER = re.compile(r'\s*+(?:\w*+|"[^"]*+"?+)\s*+\Z')
_CUT_EDGE = re.compile(r'-(?:>\s*+(?:"[^"]*+)?+)?+\Z')
_ASSIGNED = re.compile(rf"\s*+=\s*+({_ID})", re.DOTALL)
_OPEN = re.compile(rf"\s*+(?:({_ID})\s*+)?\{{", re.DOTALL)
_ATTRIBUTE = re.compile(rf"[\s;,]*+({_ID})\s*+(?:=\s*+({_ID}))?+", re.DOTALL)
# As the driver writes them; any other list is read pair by pair.
_DRIVER_NODE = re.compile(
    r'style="\w*+" (?:style="\w*+" )?+shape="(\w*+)" ?label="((?:[^"\\]++|\\.)*+)"\Z', re.DOTALL
)
_KEYWORDS = frozenset(("graph", "digraph", "subgraph", "node", "edge", "strict"))


class Statement(NamedTuple):
    """A node, an edge, or a label of the enclosing subgraph.

    `target` is empty for a node; `source` is empty for a label, which is in ``attributes``.
    ``cut`` marks the last node of a file that ends inside its attributes.
    """

    graph: int
    """Ordinal of the digraph in the file."""
    source: str
    target: str
    attributes: dict[str, str]
    cut: bool = False


@dataclass
class End:
    """Where and in what a file ended; `line` is 0 when it ended properly."""

    line: int = 0
    inside: str = ""


def statements(text: str, end: End) -> Iterator[Statement]:
    """Yield the statements of every digraph in a file, in order.

    Parameters
    ----------
    text : str
    end : End
        Filled when the file ends too early.

    Raises
    ------
    FormatError
        A line that is no DOT.
    TooLargeError
        Subgraphs nested too deeply.
    """
    position, depth, graph = 0, 0, -1
    known: dict[str, dict[str, str]] = {}
    size = len(text)
    while True:
        position = _SKIP.match(text, position).end()  # type: ignore[union-attr]
        if position >= size:
            if depth:
                end.line, end.inside = _line(text, size), "a graph"
            return
        sign = text[position]
        if sign == "}":
            depth -= 1
            if depth < 0:
                raise FormatError(f"line {_line(text, position)} closes a brace that is not open")
            position += 1
            continue
        if sign == "{":
            depth, position = _deeper(depth), position + 1
            continue
        match = _STATEMENT.match(text, position)
        if match is None:
            if sign == '"' or (sign == "/" and text.startswith("/*", position)):
                end.line, end.inside = _line(text, size), "a name" if sign == '"' else "a comment"
                return
            raise _unexpected(text, position)
        source, target, inside = match.groups()
        start, position = position, match.end()
        word = source.lower()
        if word in _KEYWORDS:
            if word == "strict":
                position = match.start() + len(source)
                continue
            opened = _OPEN.match(text, start + len(source))
            if opened is not None and word in ("graph", "digraph", "subgraph"):
                if word != "subgraph":
                    graph += 1
                depth, position = _deeper(depth), opened.end()
                continue
            if inside is not None and word == "graph":
                yield Statement(graph, "", "", _attributes(inside, known))
                continue
            if inside is not None:
                continue
            if text.startswith("[", position) or _CUT_HEADER.match(text, start + len(source)):
                end.line, end.inside = _line(text, size), "a header"
                return
            raise _unexpected(text, start)
        if depth == 0:
            raise _unexpected(text, start)
        following = text[position : position + 1]
        if inside is None and following == "[":
            # An attribute list without an end reaches to the end of the file.
            end.line, end.inside = _line(text, size), f"the attributes of {_unquote(source)}"
            if not target:
                yield Statement(graph, _unquote(source), "", _pairs(text[position + 1 :]), cut=True)
            return
        if following == "=" and target is None:
            assigned = _ASSIGNED.match(text, position)
            if assigned is None:
                end.line, end.inside = _line(text, size), f"the value of {_unquote(source)}"
                return
            position = assigned.end()
            yield Statement(graph, "", "", {_unquote(source): _unquote(assigned[1])})
            continue
        if target is None and following == "-":
            if _CUT_EDGE.match(text, position):
                end.line, end.inside = _line(text, size), "an edge"
                return
            raise _unexpected(text, position)
        if inside is None and position >= size and (target is None or target[0] != '"'):
            # Its attributes, or half of a name, may be missing.
            end.line, end.inside = _line(text, size), f"the statement of {_unquote(source)}"
            return
        attributes = {} if inside is None else _attributes(inside, known)
        yield Statement(graph, _unquote(source), _unquote(target or ""), attributes)
        while target is not None and inside is None:
            chained = _AFTER_EDGE.match(text, position)
            if chained is None:
                break
            source, (target, inside), position = target, chained.groups(), chained.end()
            attributes = {} if inside is None else _attributes(inside, known)
            yield Statement(graph, _unquote(source), _unquote(target or ""), attributes)


def _deeper(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise TooLargeError(f"subgraphs are nested more than {MAX_DEPTH} deep")
    return depth + 1


def _attributes(inside: str, known: dict[str, dict[str, str]]) -> dict[str, str]:
    # The lists of edges are few and short; those of nodes hold labels and are all different.
    if len(inside) > 80:
        match = _DRIVER_NODE.match(inside)
        if match is None:
            return _pairs(inside)
        return {"shape": match[1], "label": match[2].replace('\\"', '"').replace("\\\n", "")}
    found = known.get(inside)
    if found is None:
        found = _pairs(inside)
        if len(known) < 10_000:
            known[inside] = found
    return found


def _pairs(inside: str) -> dict[str, str]:
    """Read ``name=value`` pairs; the last value may lack its closing quote."""
    pairs: dict[str, str] = {}
    position, size, name = 0, len(inside), ""
    while position < size:
        match = _ATTRIBUTE.match(inside, position)
        if match is not None:
            position = match.end()
            name = _unquote(match[1])
            if match[2] is not None:
                pairs[name] = _unquote(match[2])
        elif inside[position] == '"':
            pairs[name] = inside[position + 1 :].replace('\\"', '"')
            break
        else:
            position += 1
    return pairs


def _unquote(text: str) -> str:
    if text[:1] != '"':
        return text
    text = text[1:-1]
    return text.replace('\\"', '"').replace("\\\n", "") if "\\" in text else text


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _unexpected(text: str, position: int) -> FormatError:
    shown = text[position : position + 30].splitlines()[0]
    return FormatError(f"line {_line(text, position)} is no DOT: unexpected {shown!r}")
