"""Operators with what the nodes that they launched cost."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..origin_index import OriginIndex
from ..origins import Operator
from .origin_totals import Costs, Totals, group

NO_OPERATOR = "no operator"
ITEM_BYTES = {
    **dict.fromkeys(("bool", "uint8", "int8", "quint8", "qint8"), 1),
    **dict.fromkeys(("float16", "bfloat16", "half", "int16", "uint16"), 2),
    **dict.fromkeys(("float32", "float", "int32", "uint32", "complex32"), 4),
    **dict.fromkeys(("float64", "double", "int64", "uint64", "complex64"), 8),
    "complex128": 16,
}
"""Bytes of one element by dtype, as torch names it; 8-bit floats are told by their name."""


def given_bytes(operator: Operator) -> int | None:
    """Return the bytes of the tensors that one call was given; ``None`` for a dtype not known.

    Dimensions of stride 0, which repeat the same elements, count once.

    Examples
    --------
    >>> from capture.origins import TensorLike
    >>> given_bytes(Operator("aten.add.Tensor", (TensorLike("bfloat16", (8, 4)),) * 2))
    128
    """
    total = 0
    for tensor in operator.inputs:
        dtype = tensor.dtype.removeprefix("torch.")
        size = 1 if dtype.startswith("float8") else ITEM_BYTES.get(dtype)
        if size is None:
            if not dtype:
                continue  # a hole in a list of tensors
            return None
        strides = tensor.stride if len(tensor.stride) == len(tensor.shape) else (1,) * 99
        for length, stride in zip(tensor.shape, strides, strict=False):
            size *= length if stride else min(length, 1)
        total += size
    return total


@dataclass
class InputsRow:
    """Calls of one operator with the same shapes, dtypes, strides and other arguments."""

    operator: Operator
    total: Totals = field(default_factory=Totals)
    first: int = -1
    """Position of the first node."""


@dataclass
class OperatorRow:
    """One operator.

    Attributes
    ----------
    name : str
        As torch names it; empty for the nodes of no operator.
    total : Totals
    inputs : list of InputsRow
        By falling time. A kernel that was fused from several operators is in none of them.
    modules : dict of int to int
        Nodes by innermost module; see :attr:`~capture.origin_index.OriginIndex.modules`.
    """

    name: str
    total: Totals = field(default_factory=Totals)
    inputs: list[InputsRow] = field(default_factory=list)
    modules: dict[int, int] = field(default_factory=dict)


def operator_calls(index: OriginIndex, costs: Costs) -> list[OperatorRow]:
    """Return operators, those that take the longest first; nodes of none are at the end.

    Notes
    -----
    O(nodes). A kernel that was fused from several operators is charged to each in full, and marked
    as shared.
    """
    phases = index.column("phase")
    rows: dict[str, OperatorRow] = {}
    names = index.operator_names
    for operators, totals in group(index.node_operators, phases, costs).items():
        for name in [names[at] for at in operators] or [""]:
            row = rows.setdefault(name, OperatorRow(name))
            row.total.add(totals, shared=len(operators) > 1)
    for operators, modules in zip(index.node_operators, index.node_modules, strict=True):
        for name in [names[at] for at in operators] or [""]:
            used = rows[name].modules
            for module in modules:
                used[module] = used.get(module, 0) + 1
    _add_inputs(rows, index, costs)
    return sorted(
        rows.values(),
        key=lambda row: (not row.name, -row.total.time_ns, -row.total.nodes, row.name),
    )


def _add_inputs(rows: dict[str, OperatorRow], index: OriginIndex, costs: Costs) -> None:
    keys = index.column("operator")
    first: dict[int, int] = {}
    for position, key in enumerate(keys):
        first.setdefault(key, position)
    same: dict[Operator, InputsRow] = {}
    for key, totals in group(keys, index.column("phase"), costs).items():
        if key < 0:
            continue
        operator = index.origins.operators[key]
        found = same.get(operator)
        if found is None:
            found = same[operator] = InputsRow(operator, first=first[key])
            rows[operator.name].inputs.append(found)
        found.total.add(totals)
    for row in rows.values():
        row.inputs.sort(key=lambda item: (-item.total.time_ns, -item.total.nodes, item.first))
