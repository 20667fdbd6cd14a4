"""One array per field: rows of structs as columns that JSON and deflate keep small.

A column is a list of values, or one of two shorter forms:

- ``{"same": value, "count": n}``: `n` equal values;
- ``{"table": [...], "index": [...]}``: few distinct values, each named by its place in `table`.

Values are what JSON has; ``bytes`` are base64 text, as msgspec writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import FormatError, TooLargeError

MAX_ROWS = 4_000_000
"""Rows a column may claim to have; guards against a count that would fill memory."""
MAX_CELLS = 40_000_000
"""Rows times columns of one table."""

Column = list[Any] | dict[str, Any]


def pack(values: Sequence[Any]) -> Column:
    """Return the shortest of the three forms of a column.

    Examples
    --------
    >>> pack([7, 7, 7])
    {'same': 7, 'count': 3}
    >>> pack(["a", "b", "a", "a", "b", "a"])
    {'table': ['a', 'b'], 'index': [0, 1, 0, 0, 1, 0]}
    >>> pack([1, 2, 3])
    [1, 2, 3]
    """
    count = len(values)
    if count == 0:
        return []
    index_of: dict[Any, int] = {}
    index: list[int] = []
    table: list[Any] = []
    limit = max(1, count // 2)
    try:
        for value in values:
            # True == 1 == 1.0 as keys, and lists have none: the kind is part of the key.
            key = (value.__class__, value)
            place = index_of.get(key)
            if place is None:
                if len(table) >= limit:
                    return list(values)
                place = index_of[key] = len(table)
                table.append(value)
            index.append(place)
    except TypeError:
        return list(values)
    if len(table) == 1:
        return {"same": table[0], "count": count}
    return {"table": table, "index": index}


def unpack(column: Any, count: int, where: str) -> list[Any]:
    """Return a column's values, whichever form it has.

    Parameters
    ----------
    column : object
        As decoded from JSON.
    count : int
        Rows that are expected.
    where : str
        What the column is, for the message.

    Raises
    ------
    FormatError
        It has none of the forms, or another number of rows.
    """
    if count > MAX_ROWS:
        raise TooLargeError(f"{where} claims {count} rows; at most {MAX_ROWS} are read")
    if isinstance(column, list):
        values = column
    elif isinstance(column, dict) and "same" in column:
        if column.get("count") != count:
            raise FormatError(f"{where} has {column.get('count')!r} rows, expected {count}")
        return [column["same"]] * count
    elif isinstance(column, dict) and "table" in column:
        table, index = column["table"], column.get("index")
        if not isinstance(table, list) or not isinstance(index, list):
            raise FormatError(f"{where} has a table without an index")
        try:
            if index and min(index) < 0:
                raise IndexError
            values = [table[i] for i in index]
        except (IndexError, TypeError) as error:
            raise FormatError(f"{where} points past its table of {len(table)} values") from error
    else:
        raise FormatError(f"{where} is a {type(column).__name__}, expected a column")
    if len(values) != count:
        raise FormatError(f"{where} has {len(values)} rows, expected {count}")
    return values


def pack_records(records: Sequence[dict[str, Any]]) -> dict[str, Column]:
    """Turn maps into columns; a field that some rows lack is stored with the rows that have it."""
    names: dict[str, None] = {}
    for record in records:
        names.update(dict.fromkeys(record))
    columns: dict[str, Any] = {}
    for name in names:
        rows = [i for i, record in enumerate(records) if name in record]
        column = pack([records[i][name] for i in rows])
        columns[name] = column if len(rows) == len(records) else {"rows": rows, "values": column}
    return columns


def unpack_records(columns: Any, count: int, where: str) -> list[dict[str, Any]]:
    """Turn the columns of :func:`pack_records` back into maps.

    Raises
    ------
    FormatError
        As :func:`unpack`.
    """
    if not isinstance(columns, dict):
        raise FormatError(f"{where} is a {type(columns).__name__}, expected a map of columns")
    if count > MAX_ROWS or count * len(columns) > MAX_CELLS:
        raise TooLargeError(
            f"{where} claims {count} rows of {len(columns)} fields; at most {MAX_ROWS} rows and "
            f"{MAX_CELLS} values are read"
        )
    records: list[dict[str, Any]] = [{} for _ in range(count)]
    for name, column in columns.items():
        here = f"{where}.{name}"
        if isinstance(column, dict) and "rows" in column:
            rows = column["rows"]
            if not isinstance(rows, list):
                raise FormatError(f"{here} has no list of rows")
            values = unpack(column.get("values"), len(rows), here)
            try:
                if rows and min(rows) < 0:
                    raise IndexError
                for row, value in zip(rows, values, strict=True):
                    records[row][name] = value
            except (IndexError, TypeError) as error:
                raise FormatError(f"{here} names a row that is not there") from error
        else:
            for record, value in zip(records, unpack(column, count, here), strict=True):
                record[name] = value
    return records
