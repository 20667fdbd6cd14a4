"""A log becomes :class:`~capture.origins.Origins`: indices into small tables, one row a node."""

from __future__ import annotations

from collections.abc import Sequence

from ...origins import Origins
from .columns import Builder, Columns
from .context import Context
from .fill import fill
from .log import Log


def build(key: str, log: Log, handles: Sequence[int], context: Context) -> Origins:
    """Make the tables of a graph.

    Parameters
    ----------
    key : str
        Of the graph.
    log : Log
    handles : sequence of int
        Of the nodes of the outermost level, in creation order.
    context : Context

    Returns
    -------
    Origins
        A column in which nothing is known is empty.
    """
    rows = list(log)
    owners = fill(handles, rows)
    builder = Builder(log, context)
    done: dict[int, Columns] = {}

    def of(number: int) -> Columns:
        found = done.get(number)
        if found is None:
            found = done[number] = builder.row(rows[number])
        return found

    numbers = {id(row): number for number, row in enumerate(rows)} if owners.between else {}
    outside: dict[tuple[int, int], Columns] = {}
    nodes: list[Columns] = []
    for position, number in enumerate(owners.rows):
        if number >= 0:
            nodes.append(of(number))
            continue
        pair = owners.between[position]
        if pair not in outside:
            first, second = (rows[at] if at >= 0 else None for at in pair)
            outside[pair] = builder.between(first, second, lambda row: of(numbers[id(row)]))
        nodes.append(outside[pair])
    origins = Origins(
        graph=key,
        frames=list(builder.frames),
        stacks=list(builder.stacks),
        operators=builder.operators,
        modules=builder.modules,
        names=list(builder.names),
        compiled_kernels=list(builder.compiled),
    )
    for name, values in zip(Columns._fields, zip(*nodes, strict=True), strict=False):
        if max(values) >= 0:
            setattr(origins, name, list(values))
    if owners.between:
        origins.missing["operator"] = (
            f"{len(owners.between)} nodes were not launched by an operator of torch's; their "
            f"stack is what the operators before and after have in common"
        )
    return origins
