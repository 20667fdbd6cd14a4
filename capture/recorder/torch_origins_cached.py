"""Lines of the operators of a compiled graph that comes from the compiler's own cache.

A graph from the cache is not lowered again, so nothing is there to listen to. But the cache keeps
the graph as torch prints it, for its logs: each operator's name, under a comment with the line
that it comes from. A forward is traced anew in every process, and says more: whole stacks, and
modules. So a printed line is looked up among the traced ones, and a backward's operator belongs to
the module whose line it is, where there is only one. Where there are several, as in a stack of
equal layers, the parameter decides that it takes, or whose gradient it is for.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

_COMMENT = re.compile(r"^\s*#")
_PLACE = re.compile(r"File: (.+?):(\d+) in (.+?), code: ")
_NODE = re.compile(r"^\s*(\w+)(?:: \"[^\"]*\")? = ([^;]*)")
_RETURN = re.compile(r"^\s*return \((.*)\)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_INPUT = re.compile(r"primals_(\d+)")
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
    inputs : tuple of (str or None)
        Path of the module that holds each input, for a traced graph; ``None`` for what is no
        parameter or buffer.
    """

    owners: dict[str, Owner]
    traces: dict[str, str]
    inputs: tuple[str | None, ...] = ()


class _Node(NamedTuple):
    place: Any
    operands: list[str]


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
    nodes, returned = _parsed(text)
    by_input = _by_inputs(nodes, returned, traced)
    found = Names({}, {})
    for name, node in nodes.items():
        if node.place is None:
            continue
        frames = stacks.get(node.place, [node.place])
        found.traces[name] = "".join('  File "{}", line {}, in {}\n'.format(*it) for it in frames)
        known = owners.get(node.place, {None})
        owner = next(iter(known)) if len(known) == 1 else by_input.get(name)
        if owner is not None and owner in known:
            found.owners[name] = owner
    return found


def _shared(one: list[Frame], other: list[Frame]) -> list[Frame]:
    """Return the innermost frames that two stacks have in common."""
    count = 0
    while count < min(len(one), len(other)) and one[-1 - count] == other[-1 - count]:
        count += 1
    return one[len(one) - count :]


def _parsed(text: str) -> tuple[dict[str, _Node], list[str]]:
    """Return the operators by name, and the names that the graph returns."""
    place: Any = None
    nodes: dict[str, _Node] = {}
    returned: list[str] = []
    for line in text.splitlines():
        if _COMMENT.match(line):
            said = _PLACE.search(line)
            place = said.groups() if said else None
        elif node := _NODE.match(line):
            operands = [name for name in _NAME.findall(node[2]) if name in nodes or _input(name)]
            nodes[node[1]] = _Node(place, operands)
        elif result := _RETURN.match(line):
            returned = [name.strip() for name in result[1].split(",") if name.strip()]
    return nodes, returned


def _input(name: str) -> int:
    """Return the number of an input of the traced graph, from 1; 0 for other names."""
    found = _INPUT.fullmatch(name)
    return int(found[1]) if found else 0


def _by_inputs(
    nodes: dict[str, _Node], returned: list[str], traced: Names
) -> dict[str, Owner | None]:
    """Return modules of operators by the parameters they take, or make the gradients of."""
    known = {owner.path: owner for owner in traced.owners.values()}
    inputs = [None if path is None else known.get(path, Owner(0, path)) for path in traced.inputs]
    uses = Counter(name for node in nodes.values() for name in node.operands)
    uses.update(returned)
    found: dict[str, Owner | None] = {}
    # A backward returns a gradient, or None, for each input.
    for owner, name in zip(inputs, returned, strict=True) if len(inputs) == len(returned) else ():
        todo = [name] if owner is not None else []
        while todo:
            name = todo.pop()
            node = nodes.get(name)
            if node is None or uses[name] != 1 or name in found:
                continue
            found[name] = owner
            todo += [it for it in node.operands if it in nodes and nodes[it].place == node.place]
    for name, node in nodes.items():
        numbers = [number for number in map(_input, node.operands) if 0 < number <= len(inputs)]
        takes = {inputs[number - 1] for number in numbers} - {None}
        if len(takes) == 1:
            found.setdefault(name, *takes)
    return found
