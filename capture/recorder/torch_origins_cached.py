"""Lines of the operators of a compiled graph that comes from the compiler's own cache.

A graph from the cache is not lowered again, so nothing is there to listen to. But the cache keeps
the graph as torch prints it, for its logs: each operator's name, under a comment with the line
that it comes from. A forward is traced anew in every process, and says more: whole stacks, and
modules. So a printed line is looked up among the traced ones, and a backward's operator belongs to
the module whose line it is, where there is only one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_COMMENT = re.compile(r"^\s*#")
_PLACE = re.compile(r"File: (.+?):(\d+) in (.+?), code: ")
_NODE = re.compile(r"^\s*(\w+)(?:: \"[^\"]*\")? = ")
_FRAME = re.compile(r'File "(.+?)", line (\d+), in (.+)')
Frame = tuple[str, str, str]
"""File, line and function, as they are printed."""
PRINTED = "inductor_post_grad_graph_str"
"""Attribute of a cached graph: its text."""


class Owner(NamedTuple):
    """The module of an operator.

    Attributes
    ----------
    identity : int
        Of the module, 0 when it is not known; the module may be gone.
    path : str
        As the compiler names it, from the compiled function's own module.
    """

    identity: int
    path: str


class Names(NamedTuple):
    """What operators are known by their names in a graph of the compiler.

    Attributes
    ----------
    owners : dict of str to Owner
    traces : dict of str to str
        Stacks as torch prints them.
    """

    owners: dict[str, Owner]
    traces: dict[str, str]


def names_printed(text: str, traced: Names) -> Names:
    """Return what a printed graph says of its operators.

    Parameters
    ----------
    text : str
        As ``GraphModule.print_readable`` prints it.
    traced : Names
        Of the graph that it was derived from, as traced in this process.
    """
    stacks: dict[Frame, list[Frame]] = {}
    owners: dict[Frame, set[Owner | None]] = {}
    for name, trace in traced.traces.items():
        frames = [(file, line, said.strip()) for file, line, said in _FRAME.findall(trace)]
        if frames:
            place = frames[-1]
            stacks[place] = _shared(stacks.get(place, frames), frames)
            owners.setdefault(place, set()).add(traced.owners.get(name))
    found = Names({}, {})
    for name, place in _nodes(text):
        frames = stacks.get(place, [place])
        found.traces[name] = "".join('  File "{}", line {}, in {}\n'.format(*it) for it in frames)
        owner, *others = owners.get(place, {None})
        if owner is not None and not others:
            found.owners[name] = owner
    return found


def _shared(one: list[Frame], other: list[Frame]) -> list[Frame]:
    """Return the innermost frames that two stacks have in common."""
    count = 0
    while count < min(len(one), len(other)) and one[-1 - count] == other[-1 - count]:
        count += 1
    return one[len(one) - count :]


def _nodes(text: str) -> Iterator[tuple[str, Frame]]:
    """Yield the name and the place of each operator that has one."""
    place: Any = None
    for line in text.splitlines():
        if _COMMENT.match(line):
            said = _PLACE.search(line)
            place = said.groups() if said else None
        elif place is not None:
            node = _NODE.match(line)
            if node:
                yield node[1], place
